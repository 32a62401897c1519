/**
 * HTTP/2 connections to upstreams without TLS. A session takes requests until the peer says
 * GOAWAY, is full, or breaks; then the next request opens another.
 */
import type { ClientHttp2Session } from "node:http2";
import { connect as connectSocket } from "node:net";
import { http2 } from "./http2-lazy.ts";
import type { UpstreamFailure, UpstreamRequest } from "./sides.ts";
import type { ConnectFailure } from "./types.ts";

/** Bytes in flight per stream and per session before the peer must wait for us. */
const WINDOW_BYTES = 1_048_576;
const SESSION_WINDOW_BYTES = 8_388_608;
/** Until the peer's settings are here; the number that RFC 9113 recommends as least. */
const ASSUMED_STREAMS = 100;

/** A stream that waits for its session to stand. */
export interface SessionUser {
  onSessionReady(session: ClientHttp2Session): void;
  onSessionFailed(failure: UpstreamFailure): void;
}

export class UpstreamSession {
  readonly session: ClientHttp2Session;
  /** Requests that were started on it. */
  served = 0;
  #idleMs: number;
  #open = 0;
  #isConnected = false;
  #isLeaving = false;
  #failure: UpstreamFailure | undefined;
  #waiting: SessionUser[] = [];
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(
    request: UpstreamRequest,
    idleMs: number,
    onGone: (session: UpstreamSession) => void,
  ) {
    this.#idleMs = idleMs;
    const { host, port, localAddress, dialer } = request;
    const local = localAddress === "" ? {} : { localAddress };
    this.session = http2().connect("http://upstream", {
      createConnection: () =>
        dialer?.dial({ host, port }) ?? connectSocket({ host, port, noDelay: true, ...local }),
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
      // 128 pairs would refuse answers that HTTP/1.1 passes.
      maxHeaderListPairs: 4_096,
      // MiB; 10 would refuse streams of busy sessions.
      maxSessionMemory: 64,
    });
    const leave = (): void => {
      this.#isLeaving = true;
      onGone(this);
    };
    this.session.on("connect", () => this.#onConnect());
    this.session.on("goaway", leave);
    this.session.on("error", (error: NodeJS.ErrnoException) => this.#onError(error));
    this.session.on("close", () => {
      leave();
      this.#onClose();
    });
  }

  get canTake(): boolean {
    const most = this.session.remoteSettings?.maxConcurrentStreams ?? ASSUMED_STREAMS;
    return !this.#isLeaving && !this.session.closed && this.#open < most;
  }

  get isIdle(): boolean {
    return this.#open === 0;
  }

  take(user: SessionUser): void {
    clearTimeout(this.#idleTimer);
    this.#open += 1;
    if (this.#isConnected) user.onSessionReady(this.session);
    else this.#waiting.push(user);
  }

  /** A stream is over, or never came to be. */
  release(user: SessionUser): void {
    this.#open -= 1;
    this.#waiting = this.#waiting.filter((other) => other !== user);
    if (this.#open > 0) return;
    clearTimeout(this.#idleTimer);
    if (!this.#isConnected) this.session.destroy();
    else this.#idleTimer = setTimeout(() => this.session.close(), this.#idleMs);
  }

  #onConnect(): void {
    this.#isConnected = true;
    this.session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const user of waiting) user.onSessionReady(this.session);
  }

  #onError(error: NodeJS.ErrnoException): void {
    this.#failure = sessionFailure(error, this.#isConnected);
  }

  #onClose(): void {
    clearTimeout(this.#idleTimer);
    const failure = this.#failure ?? closedFailure(this.#isConnected);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const user of waiting) user.onSessionFailed(failure);
  }
}

function closedFailure(isConnected: boolean): UpstreamFailure {
  const message = "the session was closed";
  if (isConnected) return { kind: "broken", message };
  return { kind: "connect", failure: "reset", message };
}

const CONNECT_FAILURES: Readonly<Record<string, ConnectFailure>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  ETIMEDOUT: "timeout",
};

function sessionFailure(error: NodeJS.ErrnoException, isConnected: boolean): UpstreamFailure {
  const { code = "", message } = error;
  if (!isConnected) {
    return { kind: "connect", failure: CONNECT_FAILURES[code] ?? "unreachable", message };
  }
  // What the peer sent is no HTTP/2.
  return { kind: code === "ERR_HTTP2_ERROR" ? "bad" : "broken", message };
}
