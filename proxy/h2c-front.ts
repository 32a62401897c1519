/**
 * The h2c front (HTTP/2 without TLS, by prior knowledge): for gRPC, and for ingresses that speak
 * HTTP/2 to the port `h2c`. Listens by itself, or serves connections that another front accepted.
 */
import type { Http2Server, Http2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { withoutMapping } from "../common/peer-address.ts";
import { isHeaderName } from "../common/header-names.ts";
import { answerFields, readRequestFields } from "./h2-headers.ts";
import { H2cExchange } from "./h2c-exchange.ts";
import { getHeader } from "./headers.ts";
import { END_STREAM, http2 } from "./http2-lazy.ts";
import { declaredLength, isHostText } from "./request-head.ts";
import { type BodyFraming, CHUNKED, NO_BODY } from "./sides.ts";
import type { Front, FrontHooks, FrontOptions, ListenOptions, RequestHead } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** As stock. */
const MAX_STREAMS = 250;
/** Bytes in flight per stream before a client must wait for us. */
const WINDOW_BYTES = 1_048_576;
const DECIMAL = /^[0-9]{1,15}$/;

export function createH2cFront(
  options: FrontOptions,
  hooks: FrontHooks,
  upstream: Upstream,
): H2cFront {
  return new H2cFront(options, hooks, upstream);
}

export class H2cFront implements Front {
  #options: FrontOptions;
  #hooks: FrontHooks;
  #upstream: Upstream;
  /** Made for the first connection: most processes never see one. */
  #server: Http2Server | undefined;
  #sessions = new Set<Http2Session>();
  /** Open streams of each session that has any. */
  #streams = new Map<Http2Session, number>();
  #open = 0;
  #isStopping = false;
  #onDrained: (() => void)[] = [];

  constructor(options: FrontOptions, hooks: FrontHooks, upstream: Upstream) {
    this.#options = options;
    this.#hooks = hooks;
    this.#upstream = upstream;
  }

  get open(): number {
    return this.#open;
  }

  accept(socket: Socket): void {
    this.#useServer().emit("connection", socket);
  }

  async listen(where: ListenOptions): Promise<{ readonly address: string; readonly port: number }> {
    const server = this.#useServer();
    const { host, port, reusePort = false } = where;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port, reusePort }, () => {
        server.off("error", reject);
        resolve();
      });
    });
    // A listening TCP server has an address object; a string is for pipes only.
    const { address, port: chosen } = server.address() as AddressInfo;
    return { address, port: chosen };
  }

  stopAccepting(): void {
    this.#isStopping = true;
    if (this.#server?.listening === true) this.#server.close();
    // GOAWAY now, the end when the open streams are done.
    for (const session of this.#sessions) session.close();
  }

  drained(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  async close(): Promise<void> {
    const server = this.#server;
    const isListening = server?.listening === true;
    this.stopAccepting();
    for (const session of this.#sessions) session.destroy();
    if (isListening) await new Promise<void>((resolve) => server.once("close", resolve));
  }

  #useServer(): Http2Server {
    this.#server ??= this.#createServer();
    return this.#server;
  }

  #createServer(): Http2Server {
    const server = http2().createServer({
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        initialWindowSize: WINDOW_BYTES,
        maxHeaderListSize: this.#options.maxHeadBytes,
      },
      // 128 pairs would refuse requests that HTTP/1.1 passes; bytes are limited instead.
      maxHeaderListPairs: 4_096,
      // MiB; 10 would refuse streams of busy sessions.
      maxSessionMemory: 64,
      // Streams opened and cancelled at once are work for us, none for the client (CVE-2023-44487).
      // Beyond the burst the session ends; callers that cancel ordinary calls stay far below.
      streamResetBurst: 1_000,
      streamResetRate: 100,
      // Heads that are refused for their size, and frames that make no sense, before a session ends.
      maxSessionRejectedStreams: 100,
      maxSessionInvalidFrames: 1_000,
      maxSettings: 32,
    });
    server.on("session", (session) => this.#onSession(session));
    server.on("stream", (stream, _headers, flags, fields) => this.#onStream(stream, flags, fields));
    server.on("sessionError", ignoreError);
    return server;
  }

  #onSession(session: Http2Session): void {
    this.#sessions.add(session);
    session.on("close", () => this.#sessions.delete(session));
    session.on("error", ignoreError);
    if (this.#isStopping) session.close();
    // Node counts bytes, not streams, as activity: only a session without streams is idle.
    session.setTimeout(this.#options.keepAliveMs, () => {
      if (!this.#streams.has(session)) session.close();
    });
  }

  #onStream(stream: ServerHttp2Stream, flags: number, fields: readonly string[]): void {
    stream.on("error", ignoreError);
    const { session } = stream;
    if (session === undefined) return;
    const read = readHead(stream, flags, fields);
    if (read === undefined) return this.#refuse("malformed_request", stream);
    const expectation = getHeader(read.head.headers, "expect");
    if (expectation !== undefined && !read.head.expectsContinue) {
      return this.#refuse("unknown_expectation", stream);
    }
    this.#streams.set(session, (this.#streams.get(session) ?? 0) + 1);
    const exchange = new H2cExchange(read, stream, {
      upstream: this.#upstream,
      replayBytes: this.#options.replayBytes,
      onClosed: () => this.#onClosed(session),
    });
    this.#open += 1;
    this.#hooks.onExchange(exchange);
  }

  #onClosed(session: Http2Session): void {
    this.#open -= 1;
    const left = (this.#streams.get(session) ?? 1) - 1;
    if (left > 0) this.#streams.set(session, left);
    else this.#streams.delete(session);
    if (this.#open > 0) return;
    const waiting = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of waiting) resolve();
  }

  #refuse(reason: Parameters<FrontHooks["onRefused"]>[0], stream: ServerHttp2Stream): void {
    const answer = this.#hooks.onRefused(reason);
    stream.respond(answerFields(answer.status, answer.headers));
    stream.end(answer.body);
  }
}

function readHead(
  stream: ServerHttp2Stream,
  flags: number,
  fields: readonly string[],
): { readonly head: RequestHead; readonly framing: BodyFraming } | undefined {
  const request = readRequestFields(fields);
  const framing = requestFraming(flags, fields);
  if (request === undefined || framing === undefined || !isHostText(request.authority)) {
    return undefined;
  }
  const head: RequestHead = {
    method: request.method,
    target: request.path,
    httpVersion: "2",
    headers: request.headers,
    host: request.authority,
    ...peerOf(stream),
    upgrade: "",
    expectsContinue: isHeaderName(getHeader(fields, "expect") ?? "", "100-continue"),
    contentLength: declaredLength(framing),
  };
  return { head, framing };
}

function peerOf(stream: ServerHttp2Stream): {
  readonly remoteAddress: string;
  readonly remotePort: number;
} {
  const socket = stream.session?.socket;
  const remoteAddress = withoutMapping(socket?.remoteAddress ?? "");
  return { remoteAddress, remotePort: socket?.remotePort ?? 0 };
}

function requestFraming(flags: number, fields: readonly string[]): BodyFraming | undefined {
  const length = getHeader(fields, "content-length");
  if (length !== undefined && !DECIMAL.test(length)) return undefined;
  if ((flags & END_STREAM) !== 0) return length === undefined ? NO_BODY : lengthFraming(length);
  return length === undefined ? CHUNKED : lengthFraming(length);
}

function lengthFraming(length: string): BodyFraming {
  return { kind: "length", length: Number(length) };
}

function ignoreError(): void {
  // The session or stream closes, and that is what counts.
}
