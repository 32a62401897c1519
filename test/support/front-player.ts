/**
 * Plays bytes of one client connection to a front and tells what came of them: the answers, whether
 * the connection ended, and what an upstream received. One upstream connection per request, so that
 * streams of different fronts can be compared byte by byte.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { readStrictly } from "./strict-requests.ts";
import { type Rig, startRig, useFrontForm } from "./proxy-rig.ts";

export interface Outcome {
  /** Statuses in the order of the answers; interim ones left out. */
  readonly statuses: readonly number[];
  /** What the upstream received, one text per connection, in the order of arrival. */
  readonly forwarded: readonly string[];
  /** How the connection ended: by the front, by the client after a silence, or not at all. */
  readonly end: "closed" | "after-fin" | "never";
}

export interface FrontPlayer {
  /** On a busy machine an answer may take longer than the usual silence: a doubtful play is repeated. */
  play(pieces: readonly Buffer[], patience?: "usual" | "long"): Promise<Outcome>;
  stop(): Promise<void>;
}

/** Ends a connection on which all that came before is complete. */
export const LAST_REQUEST = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
/** Silence after which the client ends its side: the front waits for more of a request. */
const SILENCE_MS = { usual: 300, long: 3_000 } as const;
/** The front must let go of a client that is gone. */
const HANG_MS = 10_000;

export async function startFrontPlayer(form: "safe" | "raw"): Promise<FrontPlayer> {
  const upstream = await startUpstream();
  useFrontForm(form);
  const rig: Rig = await startRig({
    port: upstream.port,
    front: { maxHeadBytes: 16_384, headTimeoutMs: 10_000 },
    upstream: { maxIdlePerHost: 0 },
  });
  useFrontForm("safe");
  return {
    play: async (pieces, patience = "usual") => {
      upstream.received.length = 0;
      const reply = await playTo(rig.port, pieces, SILENCE_MS[patience]);
      // What is on its way to the upstream when the client's side is over still arrives.
      await new Promise((resolve) => setImmediate(resolve));
      return { ...reply, forwarded: upstream.received.map(({ text }) => text) };
    },
    stop: async () => {
      await rig.stop();
      await upstream.stop();
    },
  };
}

/** Node's own server, which only says yes or no. */
export async function startNodePlayer(server: Server): Promise<FrontPlayer> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    play: async (pieces, patience = "usual") => ({
      ...(await playTo(port, pieces, SILENCE_MS[patience])),
      forwarded: [],
    }),
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await closed;
    },
  };
}

interface Received {
  text: string;
}

async function startUpstream(): Promise<{
  readonly port: number;
  readonly received: Received[];
  stop(): Promise<void>;
}> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const entry = { text: "" };
    received.push(entry);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => {
      entry.text += bytes.toString("latin1");
      if (isAnswerable(entry.text)) socket.end(ANSWER);
      else if (/\r\nExpect: 100-continue\r\n.*\r\n\r\n$/is.test(entry.text)) socket.write(CONTINUE);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A stream that cannot be read is answered too: the test looks at it afterwards. */
function isAnswerable(text: string): boolean {
  try {
    return readStrictly(text).requests.length > 0;
  } catch {
    return true;
  }
}

function playTo(
  port: number,
  pieces: readonly Buffer[],
  silenceMs: number,
): Promise<Omit<Outcome, "forwarded">> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    let text = "";
    let end: Outcome["end"] = "closed";
    const finish = (): void => {
      clearTimeout(silence);
      clearTimeout(hang);
      socket.destroy();
      resolve({ statuses: statusesOf(text), end });
    };
    const silence = setTimeout(() => {
      end = "after-fin";
      socket.end();
    }, silenceMs);
    const hang = setTimeout(() => {
      end = "never";
      finish();
    }, HANG_MS);
    socket.on("data", (bytes) => {
      silence.refresh();
      text += bytes.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.on("end", finish);
    socket.on("close", finish);
    socket.on("connect", () => send(0));
    const send = (index: number): void => {
      const piece = pieces[index];
      if (piece === undefined || socket.destroyed) return;
      silence.refresh();
      socket.write(piece, () => setImmediate(send, index + 1));
    };
  });
}

function statusesOf(text: string): number[] {
  const found = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  return found.filter((status) => status >= 200);
}
