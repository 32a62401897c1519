/**
 * One attempt: stands between the client's side and an upstream stream, moves what arrives from
 * one to the other, watches the limits and tells exactly once how it ended.
 */
import { AttemptClock, type LimitName } from "./attempt-clock.ts";
import { hasHeader, safeTrailers } from "./headers.ts";
import { LateTimers } from "./late-timers.ts";
import { hopHeaders } from "./request-writer.ts";
import { CHUNKED, NO_BODY } from "./sides.ts";
import type {
  BodyFraming,
  BodySink,
  ClientSide,
  UpstreamFailure,
  UpstreamListener,
  UpstreamRequest,
  UpstreamStream,
} from "./sides.ts";
import { joinTunnel, type Tunnel } from "./tunnel.ts";
import type { Attempt, AttemptEnd, ResponseHead, RunningAttempt } from "./types.ts";
import type { Upstream } from "./upstream.ts";
import type { Duplex } from "node:stream";
import { CLOSE_LIMIT, CLOSE_POD_LOST } from "./websocket-close.ts";

/** How long a forwarded `Expect` may hold the body back when upstream never answers it (as stock). */
const CONTINUE_WAIT_MS = 1_000;

/** Of all attempts. */
const LIMITS = new LateTimers();

/** How often an attempt goes to a new connection because the one before did not take it. */
const MAX_RESTARTS = 2;

const EMPTY_BODY: BodyFraming = { kind: "length", length: 0 };
/** Servers want to be told that the body of such a request is empty (RFC 9110 8.6). */
const MEANS_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** What the client's side asked for, beside the head that the handler sees. */
export interface ForwardContext {
  readonly client: ClientSide;
  readonly upstream: Upstream;
  /** Protocol of a wanted upgrade as spelled, empty for none. */
  readonly upgrade: string;
}

export class ForwardedAttempt implements RunningAttempt, UpstreamListener, BodySink {
  bytesUp = 0;
  bytesDown = 0;
  #attempt: Attempt;
  #client: ClientSide;
  #context: ForwardContext;
  #clock: AttemptClock;
  #stream: UpstreamStream | undefined;
  #tunnel: Tunnel | undefined;
  #status = 0;
  #isEnded = false;
  #isBodyStarted = false;
  #restarts = 0;
  #continueTimer: NodeJS.Timeout | undefined;

  constructor(attempt: Attempt, context: ForwardContext) {
    this.#attempt = attempt;
    this.#client = context.client;
    this.#clock = new AttemptClock(attempt.limits, LIMITS, (limit) => this.#onLimit(limit));
    this.#context = context;
  }

  /** Separate from the constructor, because a pooled connection calls back at once. */
  start(): void {
    const { head, body } = this.#client;
    const attempt = this.#attempt;
    const { upgrade } = this.#context;
    const framing = framingOf(attempt, body.framing, head.method);
    const addExpect =
      attempt.awaitContinue === true &&
      framing.kind !== "none" &&
      !hasHeader(attempt.headers, "expect");
    const request: UpstreamRequest = {
      protocol: attempt.protocol,
      host: attempt.host,
      port: attempt.port,
      localAddress: attempt.localAddress ?? "",
      dialer: attempt.dialer,
      method: head.method,
      target: attempt.target,
      headers: attempt.headers,
      hopHeaders: hopHeaders(head, { framing, addExpect, upgrade }),
      framing,
      upgrade,
    };
    // What a kept connection did not take goes over a new one: several may have ended together.
    this.#stream = this.#context.upstream.open(request, this.#restarts > 0);
    this.#stream.start(request, this);
    if (!this.#isEnded) this.#clock.start();
  }

  get began(): boolean {
    return this.#status !== 0;
  }

  get bodyStarted(): boolean {
    return this.#isBodyStarted;
  }

  cancel(): void {
    if (this.#isEnded) return;
    const { began, bodyStarted } = this;
    this.#dropUpstream();
    this.#finish({ kind: "cancelled", began, bodyStarted });
    if (began) this.#cutClient(CLOSE_POD_LOST);
  }

  /** Ends the attempt if it runs, and the client's connection. */
  cut(websocketCloseCode: number): void {
    if (!this.#isEnded) {
      const { began } = this;
      this.#dropUpstream();
      this.#finish({ kind: "cancelled", began });
    }
    this.#cutClient(websocketCloseCode);
  }

  /** The client's side takes bytes again. */
  clientDrained(): void {
    this.#stream?.resume();
  }

  clientGone(): void {
    if (this.#isEnded) return;
    this.#dropUpstream();
    this.#finish({ kind: "client-gone", status: this.#status });
  }

  chunk(bytes: Buffer): boolean {
    this.bytesUp += bytes.length;
    this.#clock.active();
    const stream = this.#stream;
    if (stream === undefined) return true;
    const isFlowing = stream.chunk(bytes);
    if (stream.isWriting) this.#client.body.keep();
    return isFlowing;
  }

  end(trailers: readonly string[]): void {
    this.#stream?.end(safeTrailers(trailers));
  }

  onUpstreamConnected(reused: boolean): void {
    this.#clock.connected();
    this.#attempt.onConnected?.(reused);
  }

  onUpstreamReady(): void {
    if (this.#isEnded) return;
    if (this.#attempt.awaitContinue === true) return;
    if (!hasHeader(this.#attempt.headers, "expect")) return this.#startBody();
    this.#continueTimer = setTimeout(() => this.#startBody(), CONTINUE_WAIT_MS);
  }

  onUpstreamInformation(head: ResponseHead): void {
    if (head.status === 100) {
      if (!this.#isEnded && this.#attempt.awaitContinue === true) this.#attempt.onContinue?.();
      this.#startBody();
    } else this.#client.sendInformation(head);
  }

  onUpstreamHead(head: ResponseHead, framing: BodyFraming): void {
    clearTimeout(this.#continueTimer);
    const headers = this.#attempt.onResponse(head);
    if (this.#isEnded) return;
    if (headers === "intercept") {
      this.#client.body.stop();
      this.#stream?.discard();
      this.#finish({ kind: "intercepted", status: head.status, headers: head.headers });
      return;
    }
    this.#status = head.status;
    this.#clock.began();
    this.#client.body.forget();
    this.#client.sendHead(head, headers, framing);
  }

  onUpstreamChunk(bytes: Buffer): boolean {
    this.bytesDown += bytes.length;
    this.#clock.active();
    this.#attempt.onChunk?.(bytes);
    return this.#client.sendChunk(bytes);
  }

  onUpstreamEnd(trailers: readonly string[]): void {
    if (this.#isEnded) return;
    this.#client.body.stop();
    this.#client.sendEnd(safeTrailers(trailers));
    this.#finish({ kind: "done", status: this.#status });
  }

  onUpstreamDrain(): void {
    this.#client.body.resume();
  }

  onUpstreamSwitched(head: ResponseHead, socket: Duplex): void {
    const headers = this.#attempt.onResponse(head);
    if (this.#isEnded || headers === "intercept") {
      socket.destroy();
      this.#finish({ kind: "intercepted", status: head.status, headers: head.headers });
      return;
    }
    this.#status = head.status;
    this.#clock.began();
    const client = this.#client.sendUpgrade(head, headers);
    if (client === undefined) {
      socket.destroy();
      return this.clientGone();
    }
    const isWebsocket = this.#client.head.upgrade === "websocket";
    this.#tunnel = joinTunnel({ client, upstream: socket, isWebsocket }, this);
  }

  onUpstreamFailure(failure: UpstreamFailure): void {
    if (this.#isEnded) return;
    this.#client.body.stop();
    if (this.#canStartAgain(failure)) return this.start();
    if (this.began) {
      this.#finish({ kind: "cut", status: this.#status, message: failure.message });
      this.#cutClient(CLOSE_POD_LOST);
      return;
    }
    this.#finish(this.#failedEnd(failure));
  }

  onTunnelBytes(direction: "up" | "down", count: number): void {
    if (direction === "up") this.bytesUp += count;
    else this.bytesDown += count;
    this.#clock.active();
  }

  onTunnelEnd(why: "done" | "client-gone" | "upstream-lost"): void {
    if (this.#isEnded) return;
    const status = this.#status;
    if (why === "done") return this.#finish({ kind: "done", status });
    if (why === "client-gone") return this.clientGone();
    this.#finish({ kind: "cut", status, message: "the upstream broke the switched connection" });
    this.#cutClient(CLOSE_POD_LOST);
  }

  /** Passes the body on, and tells a client that waits with `Expect` to send it. */
  #startBody(): void {
    clearTimeout(this.#continueTimer);
    if (this.#isEnded || this.#isBodyStarted || this.began) return;
    this.#isBodyStarted = true;
    this.#client.sendContinue();
    this.#client.body.start(this);
  }

  /** Behind a GOAWAY, or not sent when its connection ended: to a new one, unseen by anybody. */
  #canStartAgain(failure: UpstreamFailure): boolean {
    if (failure.kind !== "unprocessed" || this.began || !this.#client.body.replayable) return false;
    if (this.#restarts >= MAX_RESTARTS) return false;
    this.#restarts += 1;
    this.#isBodyStarted = false;
    return true;
  }

  #failedEnd(failure: UpstreamFailure): AttemptEnd {
    const { message } = failure;
    switch (failure.kind) {
      case "connect":
        return { kind: "connect-failed", failure: failure.failure, message };
      case "unprocessed":
        return { kind: "connect-failed", failure: "reset", message };
      case "bad":
        return { kind: "bad-response", message };
      case "broken": {
        const reused = this.#stream?.reused ?? false;
        const bodySent = this.bytesUp > 0;
        return { kind: "reset", reused, bodySent, bodyStarted: this.#isBodyStarted, message };
      }
    }
  }

  #onLimit(limit: LimitName): void {
    if (this.#isEnded) return;
    const { began } = this;
    this.#dropUpstream();
    if (limit === "connect") {
      this.#finish({ kind: "connect-failed", failure: "timeout", message: "connect timed out" });
      return;
    }
    this.#finish({ kind: "limit", limit, began });
    if (began) this.#cutClient(CLOSE_LIMIT);
  }

  #cutClient(websocketCloseCode: number): void {
    if (this.#tunnel === undefined) this.#client.destroyClient();
    else this.#tunnel.cutClient(websocketCloseCode);
  }

  #dropUpstream(): void {
    this.#client.body.stop();
    this.#stream?.destroy();
    this.#tunnel?.dropUpstream();
  }

  #finish(end: AttemptEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#clock.stop();
    clearTimeout(this.#continueTimer);
    this.#client.attemptEnded();
    this.#attempt.onEnd(end);
  }
}

function framingOf(attempt: Attempt, read: BodyFraming, method: string): BodyFraming {
  if (attempt.framing === "none") return MEANS_BODY.has(method) ? EMPTY_BODY : NO_BODY;
  return attempt.framing === "ended" && isEmpty(read) ? CHUNKED : read;
}

/** An announced length of 0 is no end that could be held back. */
function isEmpty(framing: BodyFraming): boolean {
  return framing.kind === "none" || (framing.kind === "length" && framing.length === 0);
}
