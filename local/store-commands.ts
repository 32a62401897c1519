/**
 * The few commands that the platform itself gives its Valkey: whether it answers, and that it keeps
 * a file. Spoken directly, since the store's client knows scripts only.
 */
import { connect } from "node:net";
import { PlatformError } from "../common/errors.ts";

const REPLY_TIMEOUT_MS = 5_000;

/** Any answer will do: before the password it is an error, and that too means that it serves. */
export function answers(port: number): Promise<boolean> {
  return exchange(port, "PING\r\n", (reply) => reply.length > 0).then(
    () => true,
    () => false,
  );
}

/** From now on each change is written to the append-only file, once a second to the disk. */
export async function appendToFile(port: number, password: string): Promise<void> {
  const command = `AUTH ${password}\r\nCONFIG SET appendonly yes\r\n`;
  const reply = await exchange(port, command, (text) => text.split("\r\n").length > 2);
  if (reply === "+OK\r\n+OK\r\n") return;
  throw new PlatformError("ERR_STORE_REPLY", `Valkey keeps no file: ${reply.trim()}`);
}

function exchange(
  port: number,
  command: string,
  isWhole: (reply: string) => boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: REPLY_TIMEOUT_MS });
    let reply = "";
    const finish = (end: () => void): void => {
      socket.destroy();
      end();
    };
    socket.on("connect", () => socket.write(command));
    socket.on("data", (bytes) => {
      reply += bytes.toString();
      if (isWhole(reply)) finish(() => resolve(reply));
    });
    socket.on("timeout", () => finish(() => reject(new Error("no answer"))));
    socket.on("error", (error) => finish(() => reject(error)));
    socket.on("close", () => finish(() => reject(new Error("closed"))));
  });
}
