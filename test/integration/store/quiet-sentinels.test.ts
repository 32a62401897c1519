/** Listeners at Sentinels that break in every way: nothing printed, nothing rejected unheard. */
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Redis } from "ioredis";
import { afterEach, describe, expect, it, vi } from "vitest";
import { QuietSentinels } from "../../../store/quiet-sentinels.ts";
import { eventually } from "../../support/eventually.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Answers the greeting; what becomes of a SUBSCRIBE is the test's, told by its number. */
async function startSentinel(
  onSubscribe: (socket: Socket, count: number) => void,
): Promise<number> {
  let count = 0;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      for (const name of String(bytes).match(/\r\n(hello|client|subscribe)\r\n/gi) ?? []) {
        const word = name.trim().toLowerCase();
        if (word === "hello") socket.write("-ERR unknown command 'HELLO'\r\n");
        else if (word === "client") socket.write("+OK\r\n");
        else onSubscribe(socket, (count += 1));
      }
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on TCP has an address.
  return (server.address() as AddressInfo).port;
}

function listenAt(port: number): Redis {
  const place = { host: "127.0.0.1", port };
  const connector = new QuietSentinels({
    sentinels: [place],
    name: "pilot",
    sentinelCommandTimeout: 200,
  });
  const make = Reflect.get(connector, "connectToSentinel") as (
    place: object,
    more: object,
  ) => Redis;
  return make(place, { lazyConnect: true, retryStrategy: () => 5, replyMapping: "legacy" });
}

const OK = "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n";

describe("listeners at Sentinels", () => {
  it("may lose a subscription while they come back, and nobody dies of it", async () => {
    const unheard = vi.fn();
    process.on("unhandledRejection", unheard);
    let asked = 0;
    const port = await startSentinel((socket, count) => {
      asked = count;
      // The second one, which the library asks for by itself, is never answered.
      if (count === 1) socket.write(OK, () => socket.destroy());
    });
    const client = listenAt(port);
    await client.subscribe("+switch-master");
    await eventually(() => asked >= 2);
    // As when the connection to the primary is made anew, with new listeners.
    client.disconnect();
    await eventually(() => client.status === "end");
    await new Promise((resolve) => setImmediate(resolve));
    expect(unheard).not.toHaveBeenCalled();
    process.off("unhandledRejection", unheard);
  });

  it("print nothing when a Sentinel answers nothing", async () => {
    const printed = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const port = await startSentinel(() => undefined);
    const client = listenAt(port);
    await expect(client.subscribe("+switch-master")).rejects.toThrow("timed out");
    client.disconnect();
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });
});
