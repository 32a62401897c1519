/** An engine whose calls end when the test says so. */
import http from "node:http";
import type { AddressInfo } from "node:net";

export interface HandEngine {
  readonly port: number;
  /** Names of the calls that reached it, which are their paths. */
  readonly started: string[];
  finish(name: string, usage?: object): void;
  stop(): Promise<void>;
}

const HEADERS_OF_OURS = ["pilotlight-order", "pilotlight-call", "pilotlight-tenant"];

export async function startHandEngine(): Promise<HandEngine> {
  const open = new Map<string, http.ServerResponse>();
  const started: string[] = [];
  const server = http.createServer((request, response) => {
    request.resume();
    const name = (request.url ?? "").slice(1);
    // What is between our own hops must not get this far.
    if (HEADERS_OF_OURS.some((header) => header in request.headers)) return response.destroy();
    open.set(name, response);
    started.push(name);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    started,
    finish: (name, usage) => {
      const response = open.get(name);
      open.delete(name);
      response?.writeHead(200, { "content-type": "application/json" });
      response?.end(JSON.stringify({ text: name, usage }));
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
