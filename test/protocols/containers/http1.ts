/** The HTTP/1.1 container of the proof: each path is one behaviour that a proxy must carry. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocketServer } from "ws";

type Serve = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void> | void;

/** As most servers have it; a client in front must not meet its end. */
const IDLE_MS = 5_000;
const PIECE = Buffer.alloc(65_536, 97);

export class Http1Container {
  /** Requests by path. */
  readonly hits = new Map<string, number>();
  /** Requests whose caller left. */
  aborted = 0;
  /** Loading: `/ready` is 503 and everything else 400. */
  isLoading = false;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, autoPong: true });

  private constructor() {
    this.#server = createServer({ keepAliveTimeout: IDLE_MS, keepAliveTimeoutBuffer: 0 });
    this.#server.requestTimeout = 0;
    this.#server.on("request", (request, response) => this.#serve(request, response));
    this.#server.on("checkContinue", (request, response) => this.#onExpect(request, response));
    this.#server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
    this.#sockets.on("connection", (socket, request) => {
      if (request.url === "/ws-bye") socket.close(4_004, "bye");
      socket.on("message", (data, isBinary) => socket.send(data as Buffer, { binary: isBinary }));
      socket.on("error", () => undefined);
    });
  }

  static async start(port = 0): Promise<Http1Container> {
    const container = new Http1Container();
    await new Promise<void>((resolve) => container.#server.listen(port, "127.0.0.1", resolve));
    return container;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  hitsOf(path: string): number {
    return this.hits.get(path) ?? 0;
  }

  async stop(): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The container decides about a body by its head; what it refuses it never asks for. */
  #onExpect(request: IncomingMessage, response: ServerResponse): void {
    if (new URL(request.url ?? "/", "http://c").pathname !== "/reject") response.writeContinue();
    this.#serve(request, response);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "http://c");
    this.hits.set(url.pathname, this.hitsOf(url.pathname) + 1);
    response.once("close", () => {
      if (!response.writableFinished) this.aborted += 1;
    });
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    if (this.isLoading) {
      response.writeHead(url.pathname === "/ready" ? 503 : 400);
      response.end("model not ready\n");
      return;
    }
    const serve = ROUTES.get(url.pathname) ?? echo;
    Promise.resolve(serve.call(this, request, response, url)).catch(() => response.destroy());
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { pathname } = new URL(request.url ?? "/", "http://c");
    socket.on("error", () => undefined);
    if (pathname === "/refuse-upgrade") {
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: no\r\n\r\nno");
    } else if (pathname === "/lines") {
      serveLines(socket);
    } else {
      this.#sockets.handleUpgrade(request, socket, head, (client) =>
        this.#sockets.emit("connection", client, request),
      );
    }
  }
}

/** A protocol of its own: echoes, and says `bye` after the client's side has ended. */
function serveLines(socket: Duplex): void {
  socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n");
  socket.on("data", (bytes: Buffer) => socket.write(`<${bytes.toString("latin1")}>`, "latin1"));
  socket.on("end", () => setTimeout(() => socket.end("bye"), 50));
}

async function bodyOf(request: IncomingMessage): Promise<{ length: number; sha256: string }> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of request) {
    hash.update(chunk as Buffer);
    length += (chunk as Buffer).length;
  }
  return { length, sha256: hash.digest("hex") };
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request);
  const text = JSON.stringify({
    method: request.method,
    url: request.url,
    headers: request.rawHeaders,
    trailers: request.rawTrailers,
    ...body,
  });
  response.setHeader("content-type", "application/json");
  response.end(text);
}

const ROUTES = new Map<string, (this: Http1Container, ...args: Parameters<Serve>) => unknown>([
  [
    "/sleep",
    async (_request, response, url) => {
      await pause(Number(url.searchParams.get("ms")));
      response.end("slept");
    },
  ],
  ["/early", (_request, response) => response.end("early")],
  [
    "/reject",
    (_request, response) => {
      response.writeHead(413, { connection: "close" });
      response.end("too large\n");
    },
  ],
  [
    "/hints",
    (_request, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" }, () => response.end("hinted"));
    },
  ],
  [
    "/trailers",
    (_request, response) => {
      response.setHeader("trailer", "x-sum");
      response.write("body");
      response.addTrailers({ "x-sum": "42" });
      response.end();
    },
  ],
  [
    "/sse",
    async (_request, response, url) => {
      response.setHeader("content-type", "text/event-stream");
      const [count, gapMs] = ["n", "gap"].map((name) => Number(url.searchParams.get(name)));
      for (let i = 1; i <= (count ?? 0); i += 1) {
        response.write(`data: ${i}\n\n`);
        if (i < (count ?? 0)) await pause(gapMs);
      }
      response.end();
    },
  ],
  [
    "/odd",
    (_request, response) => {
      response.socket?.end(
        "HTTP/1.1 200 Fine\r\nX-Latin: caf\u00e9 \u00ff\r\nx-lower: 1\r\nX-Empty:\r\n" +
          "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "latin1",
      );
    },
  ],
  [
    "/half",
    (_request, response) => {
      response.write("half");
      setTimeout(() => response.destroy(), 20);
    },
  ],
  [
    "/sink",
    async function (this: Http1Container, request, response) {
      let length = 0;
      for await (const chunk of request) length += (chunk as Buffer).length;
      response.end(String(length));
    },
  ],
  [
    "/flood",
    async (_request, response, url) => {
      let left = Number(url.searchParams.get("bytes"));
      response.setHeader("content-length", left);
      while (left > 0 && !response.destroyed) {
        const piece = left < PIECE.length ? PIECE.subarray(0, left) : PIECE;
        left -= piece.length;
        if (!response.write(piece)) await drained(response);
      }
      response.end();
    },
  ],
]);

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off("drain", go);
      response.off("close", go);
      resolve();
    };
    response.on("drain", go);
    response.on("close", go);
  });
}
