/**
 * A relay in front of the API server that can do what networks do: hold everything back, let it
 * come late, or cut it off. It passes bytes, so it sees no secret and changes no request.
 */
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

export interface Relay {
  readonly port: number;
  /** Connections stay open and nothing passes any more, in either direction: half open. */
  freeze(): void;
  /** New connections work again; those that were frozen stay so. */
  thaw(): void;
  /** On the connections that are open now, what the server says comes this much later. */
  delay(ms: number): void;
  /** Ends all connections without a word. */
  cut(): void;
  readonly connections: number;
  close(): Promise<void>;
}

interface Line {
  readonly client: Socket;
  readonly server: Socket;
  isFrozen: boolean;
  delayMs: number;
}

export async function startRelay(targetPort: number): Promise<Relay> {
  const lines = new Set<Line>();
  const timers = new Set<NodeJS.Timeout>();
  let isFrozen = false;

  const pass = (line: Line, to: Socket, bytes: Buffer, lateMs: number): void => {
    if (line.isFrozen || to.destroyed) return;
    if (lateMs === 0) return void to.write(bytes);
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!line.isFrozen && !to.destroyed) to.write(bytes);
    }, lateMs);
    timers.add(timer);
  };
  const listener = createServer((client) => {
    const server = connect(targetPort, "127.0.0.1");
    const line: Line = { client, server, isFrozen, delayMs: 0 };
    lines.add(line);
    client.on("data", (bytes) => pass(line, server, bytes, 0));
    server.on("data", (bytes) => pass(line, client, bytes, line.delayMs));
    const end = (): void => {
      // Of a frozen line neither side hears of the other's end.
      if (line.isFrozen) return;
      lines.delete(line);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on("error", end);
    client.on("close", end);
    // Its end comes as late as its words.
    server.on("close", () => (line.delayMs === 0 ? end() : undefined));
  });
  await listen(listener);
  // A server that listens on TCP has an address.
  const { port } = listener.address() as AddressInfo;
  const cut = (): void => {
    for (const { client, server } of lines) {
      client.destroy();
      server.destroy();
    }
    lines.clear();
  };
  return {
    port,
    freeze: () => {
      isFrozen = true;
      for (const line of lines) line.isFrozen = true;
    },
    thaw: () => {
      isFrozen = false;
    },
    delay: (ms) => {
      for (const line of lines) line.delayMs = ms;
    },
    cut,
    get connections() {
      return lines.size;
    },
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
}
