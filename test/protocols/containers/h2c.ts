/** The h2c container of the proof: gRPC by hand on streams, an echo, and sessions that can be left. */
import { createServer } from "node:http2";
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";

const HEAD = { ":status": 200, "content-type": "application/grpc" } as const;
const INVALID_ARGUMENT = 3;
const INTERNAL = 13;

export class H2cContainer {
  readonly hits = new Map<string, number>();
  readonly #running = new Map<string, number>();
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();

  private constructor() {
    this.#server = createServer();
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("error", () => undefined);
      session.on("close", () => this.#sessions.delete(session));
    });
    this.#server.on("stream", (stream, headers) => this.#onStream(stream, headers));
  }

  static async start(host = "127.0.0.1"): Promise<H2cContainer> {
    const container = new H2cContainer();
    await new Promise<void>((resolve) => container.#server.listen(0, host, resolve));
    return container;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Streams of a path that are open now. */
  runningOf(path: string): number {
    return this.#running.get(path) ?? 0;
  }

  /** A graceful restart: the peers are told to go, what runs is finished. */
  goAway(): void {
    for (const session of this.#sessions) session.close();
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const path = String(headers[":path"]).split("?", 1)[0] ?? "";
    this.hits.set(path, (this.hits.get(path) ?? 0) + 1);
    this.#running.set(path, this.runningOf(path) + 1);
    stream.on("error", () => undefined);
    if (headers["expect"] === "100-continue") stream.additionalHeaders({ ":status": 100 });
    stream.on("close", () => {
      this.#running.set(path, this.runningOf(path) - 1);
    });
    if (path.startsWith("/pb.Echo/")) serveGrpc(stream, headers, path);
    else servePlain(stream, headers, path);
  }
}

function servePlain(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, path: string): void {
  if (path === "/hints") {
    stream.additionalHeaders({ ":status": 103, link: "</style.css>; rel=preload" });
  }
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    const body = Buffer.concat(chunks);
    stream.respond(
      { ":status": 200, "content-type": "application/json" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": String(body.length) }));
    stream.end(JSON.stringify({ headers, length: body.length }));
  });
}

function serveGrpc(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, path: string): void {
  if (headers["te"] !== "trailers") return failAtOnce(stream, INTERNAL, "te: trailers is missing");
  const method = path.slice("/pb.Echo/".length);
  switch (method) {
    case "Fail":
      return failAtOnce(stream, INVALID_ARGUMENT, "asked%20to fail");
    case "Silent":
      return undefined;
    case "Stream":
      return whole(stream, (message) => {
        respond(stream, [message, message, message], 0);
      });
    case "BreakAfterThree":
      return whole(stream, (message) => {
        respond(stream, [message, message, message], INTERNAL);
      });
    case "Bidi":
      return echoEach(stream);
    default:
      return whole(stream, (message) => respond(stream, [message], 0));
  }
}

/** Trailers-only: the status stands in the one head there is. */
function failAtOnce(stream: ServerHttp2Stream, status: number, message: string): void {
  const status_ = { "grpc-status": String(status), "grpc-message": message };
  stream.respond({ ...HEAD, ...status_ }, { endStream: true });
}

/** Calls with all messages of the request as one, still framed. */
function whole(stream: ServerHttp2Stream, serve: (framed: Buffer) => void): void {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => serve(joinMessages(Buffer.concat(chunks))));
}

function respond(stream: ServerHttp2Stream, messages: readonly Buffer[], status: number): void {
  stream.respond(HEAD, { waitForTrailers: true });
  stream.on("wantTrailers", () =>
    stream.sendTrailers({ "grpc-status": String(status), "grpc-message": "the end" }),
  );
  for (const message of messages) stream.write(message);
  stream.end();
}

/** Each message goes back before the next has come. */
function echoEach(stream: ServerHttp2Stream): void {
  stream.respond(HEAD, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.on("data", (chunk: Buffer) => stream.write(chunk));
  stream.on("end", () => stream.end());
}

/** Bodies of several frames in one frame: what a client stream of texts adds up to. */
function joinMessages(bytes: Buffer): Buffer {
  const bodies: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length;) {
    const length = bytes.readUInt32BE(at + 1);
    bodies.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  const body = Buffer.concat(bodies);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}
