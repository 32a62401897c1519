/**
 * What every example server does alike: listen on PORT, say so, cancel work whose caller left,
 * finish what runs on SIGTERM, then exit. Nothing here knows of Pilotlight.
 */
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Aborted when the caller leaves before the answer is complete. */
  readonly signal: AbortSignal;
}

/** Keys are `METHOD /path`; `*` takes the rest. */
export type Routes = Readonly<Record<string, (call: Call) => Promise<void> | void>>;

/** An answer other than 200 that a route wants to give. */
export class HttpError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, message: string, body: unknown = { error: message }) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export interface ServeOptions {
  readonly name: string;
  readonly routes: Routes;
  /** Called once after the last request has ended. */
  readonly onStop?: () => Promise<void> | void;
}

/** When this server could first do its work, ms since the epoch; in each answer, for the demo. */
const READY_AT_HEADER = "x-example-ready-at";
let readyAt = 0;

/** A server that loads a model says here when it has it; others are ready once they listen. */
export function markReady(): void {
  readyAt = performance.timeOrigin + performance.now();
}

/** Loopback by default: a sidecar stands in front. An image sets HOST=0.0.0.0. */
export function serve({ name, routes, onStop }: ServeOptions): Server {
  const server = createServer((request, response) => void answer(routes, request, response));
  const closeUnused = closeUnusedConnections(server);
  server.listen(Number(process.env["PORT"] ?? 8080), process.env["HOST"] ?? "127.0.0.1", () => {
    const { address, port } = server.address() as AddressInfo;
    console.log(`${name} listens on http://${address}:${port}`);
    markReady();
  });
  const stop = (): void => {
    server.close(() => void Promise.resolve(onStop?.()).then(() => process.exit(0)));
    closeUnused();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  return server;
}

/**
 * Answers a function that closes connections without a running request, now and from then on.
 * The server's own `closeIdleConnections` leaves those open that never carried one, and they would
 * hold up the end of the process.
 */
function closeUnusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  let closing = false;
  server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  server.on("request", ({ socket }, response) => {
    unused.delete(socket);
    response.once("close", () => {
      if (closing) socket.destroySoon();
      else if (!socket.destroyed) unused.add(socket);
    });
  });
  return () => {
    closing = true;
    for (const socket of unused) socket.destroy();
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = `${JSON.stringify(body)}\n`;
  response
    .writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    })
    .end(text);
}

export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > limitBytes)
      throw new HttpError(413, `The body is larger than ${limitBytes} bytes.`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function answer(
  routes: Routes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const leaving = new AbortController();
  response.setHeader(READY_AT_HEADER, readyAt.toFixed(1));
  response.once("close", () => {
    if (!response.writableFinished) leaving.abort(new Error("The caller left."));
  });
  try {
    const url = new URL(request.url ?? "/", "http://localhost");
    const route = routes[`${request.method} ${url.pathname}`] ?? routes["*"];
    if (route === undefined)
      throw new HttpError(404, `Nothing at ${request.method} ${url.pathname}.`);
    await route({ request, response, url, signal: leaving.signal });
  } catch (error) {
    if (!leaving.signal.aborted) fail(response, error);
  }
}

function fail(response: ServerResponse, error: unknown): void {
  if (error instanceof HttpError && !response.headersSent) {
    // The rest of an unread body would be taken for the next request.
    response.setHeader("connection", "close");
    sendJson(response, error.status, error.body);
    return;
  }
  console.error(error);
  if (response.headersSent) response.destroy();
  else sendJson(response, 500, { error: "The example failed; its log says why." });
}
