/** Requests to h2c upstreams: a pool of sessions by address, and one stream per request. */
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { fieldObject, regularFields, requestFields } from "./h2-headers.ts";
import { type SessionUser, UpstreamSession } from "./h2c-session.ts";
import { CANCEL, END_STREAM, NO_ERROR, REFUSED_STREAM } from "./http2-lazy.ts";
import {
  type BodyFraming,
  CHUNKED,
  NO_BODY,
  type UpstreamFailure,
  type UpstreamListener,
  type UpstreamRequest,
  type UpstreamStream,
} from "./sides.ts";
import { getHeader } from "./headers.ts";

export class H2cUpstream {
  #sessions = new Map<string, UpstreamSession[]>();
  #idleMs: number;

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /** Sessions without a stream now. */
  get idle(): number {
    return [...this.#sessions.values()].flat().filter((session) => session.isIdle).length;
  }

  get pools(): number {
    return this.#sessions.size;
  }

  open(key: string, request: UpstreamRequest): UpstreamStream {
    const known = this.#sessions.get(key)?.find((session) => session.canTake);
    return new H2cStream(known ?? this.#connect(key, request));
  }

  close(): void {
    for (const session of [...this.#sessions.values()].flat()) session.session.close();
  }

  #connect(key: string, request: UpstreamRequest): UpstreamSession {
    const session = new UpstreamSession(request, this.#idleMs, (gone) => this.#remove(key, gone));
    this.#sessions.set(key, [...(this.#sessions.get(key) ?? []), session]);
    return session;
  }

  #remove(key: string, session: UpstreamSession): void {
    const left = (this.#sessions.get(key) ?? []).filter((other) => other !== session);
    if (left.length === 0) this.#sessions.delete(key);
    else this.#sessions.set(key, left);
  }
}

class H2cStream implements UpstreamStream, SessionUser {
  #session: UpstreamSession;
  #request: UpstreamRequest | undefined;
  #listener: UpstreamListener | undefined;
  #stream: ClientHttp2Stream | undefined;
  #trailersUp: readonly string[] = [];
  #trailersDown: readonly string[] = [];
  #isReleased = false;
  #isReused = false;
  #isRequestDone = false;
  /** What came was no HTTP/2. */
  #isBad = false;

  constructor(session: UpstreamSession) {
    this.#session = session;
  }

  get reused(): boolean {
    return this.#isReused;
  }

  start(request: UpstreamRequest, listener: UpstreamListener): void {
    this.#request = request;
    this.#listener = listener;
    this.#isReused = this.#session.served > 0;
    this.#session.served += 1;
    this.#session.take(this);
  }

  onSessionReady(session: ClientHttp2Session): void {
    const request = this.#request;
    if (request === undefined || this.#listener === undefined) return;
    this.#listener.onUpstreamConnected(this.#isReused);
    if (this.#isReleased) return;
    const hasBody = request.framing.kind !== "none";
    const stream = session.request(requestFields(request), {
      endStream: !hasBody,
      // Node ends the writable side also of a stream that is cancelled; as long as trailers are
      // owed, that does not complete the request.
      waitForTrailers: hasBody,
    });
    this.#stream = stream;
    stream.on("headers", (headers, _flags, fields) =>
      this.#listener?.onUpstreamInformation({
        status: Number(headers[":status"]),
        statusText: "",
        headers: regularFields(fields),
      }),
    );
    stream.on("response", (headers, flags, fields) =>
      this.#onResponse(Number(headers[":status"]), flags, fields),
    );
    stream.on("trailers", (_headers, _flags, fields) => {
      this.#trailersDown = regularFields(fields);
    });
    stream.on("data", (bytes: Buffer) => {
      if (this.#listener?.onUpstreamChunk(bytes) === false) stream.pause();
    });
    stream.on("end", () => this.#onEnd());
    stream.on("drain", () => this.#listener?.onUpstreamDrain());
    stream.on("wantTrailers", () => {
      if (this.#isRequestDone) stream.sendTrailers(fieldObject(this.#trailersUp));
    });
    stream.on("error", (error: NodeJS.ErrnoException) => {
      this.#isBad = error.code === "ERR_HTTP2_ERROR";
    });
    stream.on("close", () => this.#onClose(stream.rstCode));
    this.#listener.onUpstreamReady();
  }

  onSessionFailed(failure: UpstreamFailure): void {
    this.#fail(failure);
  }

  get isWriting(): boolean {
    return (this.#stream?.writableLength ?? 0) > 0;
  }

  chunk(bytes: Buffer): boolean {
    return this.#stream === undefined || this.#stream.destroyed || this.#stream.write(bytes);
  }

  end(trailers: readonly string[]): void {
    this.#isRequestDone = true;
    this.#trailersUp = trailers;
    this.#stream?.end();
  }

  resume(): void {
    this.#stream?.resume();
  }

  destroy(): void {
    this.#listener = undefined;
    this.#release();
    this.#stream?.close(CANCEL);
  }

  discard(): void {
    this.destroy();
  }

  #onResponse(status: number, flags: number, fields: readonly string[]): void {
    const headers = regularFields(fields);
    const isOver = (flags & END_STREAM) !== 0;
    const framing = isOver ? NO_BODY : answerFraming(headers, this.#request?.method ?? "");
    this.#listener?.onUpstreamHead({ status, statusText: "", headers }, framing);
  }

  #onEnd(): void {
    const listener = this.#listener;
    this.#listener = undefined;
    const isBodyOpen = this.#stream?.writableEnded === false;
    this.#release();
    // An early answer: nobody waits for the rest of the request any more.
    if (isBodyOpen) this.#stream?.close(NO_ERROR);
    listener?.onUpstreamEnd(this.#trailersDown);
  }

  #onClose(code: number | undefined): void {
    if (code === REFUSED_STREAM) {
      return this.#fail({ kind: "unprocessed", message: "the upstream refused the stream" });
    }
    const message = `the upstream ended the stream with code ${code ?? 0}`;
    this.#fail({ kind: this.#isBad ? "bad" : "broken", message });
  }

  #fail(failure: UpstreamFailure): void {
    const listener = this.#listener;
    this.destroy();
    listener?.onUpstreamFailure(failure);
  }

  #release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#session.release(this);
  }
}

function answerFraming(headers: readonly string[], method: string): BodyFraming {
  if (method === "HEAD") return NO_BODY;
  const length = getHeader(headers, "content-length");
  return length === undefined ? CHUNKED : { kind: "length", length: Number(length) };
}
