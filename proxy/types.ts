/**
 * The interface of the proxy core that activator and queue-proxy share:
 * head read -> handler decides -> forward (again, while nothing was delivered) -> done.
 *
 * Headers travel as flat lists `[name, value, name, value, ...]` in the order and spelling of the
 * wire, because rebuilding objects costs more than all other work per request. No AbortSignal, no
 * promise and no log line on this path (performance budget: docs/decisions).
 */
import type { TLSSocket } from "node:tls";

export interface RequestHead {
  readonly method: string;
  /** Request target as received: origin-form, absolute-form or `*`. */
  readonly target: string;
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** As received, hop-by-hop included. */
  readonly headers: readonly string[];
  readonly host: string;
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** Requested protocol of an upgrade (`websocket`), lower case; empty when none. */
  readonly upgrade: string;
  readonly expectsContinue: boolean;
  /** Declared length, -1 when unknown (chunked), 0 when there is no body. */
  readonly contentLength: number;
  /** The client's connection has TLS. */
  readonly isEncrypted?: boolean;
}

export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  /** As received from upstream, hop-by-hop included. */
  readonly headers: readonly string[];
}

/** One request of one client, from its head to its end. Owned by the front that read it. */
export interface Exchange {
  readonly head: RequestHead;
  /** `performance.now()` when the head was complete. */
  readonly receivedAt: number;
  /** The client went away before the answer was complete. */
  readonly clientGone: boolean;
  /** Nothing of an answer was sent to the client yet. */
  readonly pristine: boolean;
  /** The request can be sent once more: no body, or all of what was sent is still held. */
  readonly replayable: boolean;
  /** At most one listener; called once, at once when the client is already gone. */
  onClientGone(listener: () => void): void;
  /**
   * Reads the body ahead of the first attempt, as far as it comes; `onBody` is called exactly once,
   * unless the client leaves first. What was read is held for the attempts.
   */
  peekBody(look: BodyLook): void;
  /** The platform's own answer; allowed while `pristine`. Reads off or cuts the rest of the request. */
  answer(answer: OwnAnswer): void;
  /**
   * Tells a client that holds its body back to send it, and calls when the first of it arrived, or
   * its end: then `isEmpty`. What arrived is held for the attempts that follow.
   */
  awaitBody(onArrival: (isEmpty: boolean) => void): void;
  /**
   * The whole body of the request for the handler itself, in place of an attempt; `too-large` as
   * soon as it is known to have more bytes. Not called when the client leaves first.
   */
  collect(mostBytes: number, onBody: (body: Buffer | "too-large") => void): void;
  /** One attempt upstream. Only one at a time; the next only after `onEnd` of the last. */
  forward(attempt: Attempt): RunningAttempt;
  /** Cuts the client's connection without completing the answer (never a made-up success). */
  cut(websocketCloseCode?: number): void;
}

/** A look at a body: never longer than the bytes held for a replay, never longer than a moment. */
export interface BodyLook {
  readonly maxBytes: number;
  readonly withinMs: number;
  /** The whole body; null when there is none, or it is longer or slower. */
  onBody(body: Buffer | null): void;
}

export interface OwnAnswer {
  readonly status: number;
  /** Flat list, without framing headers. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Sent in place of `body`, where that is no text. */
  readonly bytes?: Uint8Array;
  /** Close the client's connection after this answer. */
  readonly close?: boolean;
}

export interface Attempt {
  readonly host: string;
  readonly port: number;
  /** Source address of the connection, in local mode an address of its own; empty = any. */
  readonly localAddress?: string;
  readonly protocol: "http1" | "h2c";
  /** Complete flat header list for upstream, without framing and hop-by-hop (the core adds those). */
  readonly headers: readonly string[];
  /** Target to send, normally `head.target`. */
  readonly target: string;
  /** Hold the body back until upstream says 100 (keeps large bodies repeatable). */
  readonly awaitContinue?: boolean;
  /**
   * How the length of the body is told upstream: as the client told it, or `none` for a body that
   * turned out to be empty, or `ended` so that there is an end to hold back even without a body.
   */
  readonly framing?: "none" | "ended";
  /** Opens the connection another way than plain TCP; absent: plain TCP. */
  readonly dialer?: Dialer | undefined;
  readonly limits: AttemptLimits;
  /** The connection stands (fresh or reused), before the head is written. */
  onConnected?(reused: boolean): void;
  /**
   * Final response head. Returns the flat header list for the client, or `intercept` to keep the
   * answer away from it (its body is read off; the attempt ends with kind `intercepted`).
   */
  onResponse(head: ResponseHead): readonly string[] | "intercept";
  /** Upstream said 100: it takes the request. Only asked for with `awaitContinue`. */
  onContinue?(): void;
  /** Sees each piece of the answer's body on its way; the bytes are valid until the return. */
  onChunk?(bytes: Buffer): void;
  /** Called exactly once. */
  onEnd(end: AttemptEnd): void;
}

/** Opens connections to upstreams, e.g. with TLS. A connection of one dialer is reused by it alone. */
export interface Dialer {
  readonly key: string;
  dial(where: { readonly host: string; readonly port: number }): TLSSocket;
}

/** All in ms, 0 = off. `startMs` ends with the first response byte (a 101 included). */
export interface AttemptLimits {
  readonly connectMs: number;
  readonly startMs: number;
  /** Silence in both directions after the response head. */
  readonly idleMs: number;
  readonly totalMs: number;
}

export interface RunningAttempt {
  /** Ends the attempt now with kind `cancelled`; upstream sees its connection close. */
  cancel(): void;
  /** The body was let go, its end with it. */
  readonly bodyStarted?: boolean;
  /** Body bytes so far; final in `onEnd`. */
  readonly bytesUp: number;
  readonly bytesDown: number;
}

export const CONNECT_FAILURES = ["refused", "unreachable", "timeout", "reset"] as const;
export type ConnectFailure = (typeof CONNECT_FAILURES)[number];

/** How an attempt ended. */
export type AttemptEnd =
  /** Answer complete (for an upgrade: both sides closed). */
  | { readonly kind: "done"; readonly status: number }
  /** `onResponse` kept the answer; nothing reached the client. */
  | { readonly kind: "intercepted"; readonly status: number; readonly headers: readonly string[] }
  /** No byte of the request was delivered. */
  | { readonly kind: "connect-failed"; readonly failure: ConnectFailure; readonly message: string }
  /** Connection broke before any response byte; whether it was processed is unknown. */
  | {
      readonly kind: "reset";
      readonly reused: boolean;
      readonly bodySent: boolean;
      /** The body was let go, its end with it: with `awaitContinue` upstream had said 100. */
      readonly bodyStarted: boolean;
      readonly message: string;
    }
  /** Upstream spoke no valid HTTP. */
  | { readonly kind: "bad-response"; readonly message: string }
  /** Response began and then broke; the client's connection was cut. */
  | { readonly kind: "cut"; readonly status: number; readonly message: string }
  /** A limit of `AttemptLimits` fired; when the response had begun the client was cut. */
  | { readonly kind: "limit"; readonly limit: "start" | "idle" | "total"; readonly began: boolean }
  /** The client went away; upstream was closed. */
  | { readonly kind: "client-gone"; readonly status: number }
  | { readonly kind: "cancelled"; readonly began: boolean; readonly bodyStarted?: boolean };

/** `safe`: Node's server and parser; `raw`: our own over bare sockets, faster and no less strict. */
export const FRONT_FORMS = ["safe", "raw"] as const;
export type FrontForm = (typeof FRONT_FORMS)[number];

export interface FrontOptions {
  /** Who reads HTTP/1.1 requests; `safe` when not told. */
  readonly form?: FrontForm;
  /** Largest head in bytes; beyond it 431. */
  readonly maxHeadBytes: number;
  readonly headTimeoutMs: number;
  /** Idle keep-alive of client connections; longer than the idle time of whatever is in front. */
  readonly keepAliveMs: number;
  /** Largest number of client connections; 0 = no limit. */
  readonly maxConnections: number;
  /** Body bytes kept for a replay. */
  readonly replayBytes: number;
}

/** A protocol front: parses requests and hands out exchanges. */
export interface Front {
  /** Several listeners may share one front. Port 0 picks a free one. */
  listen(where: ListenOptions): Promise<{ readonly address: string; readonly port: number }>;
  /** Stop accepting; open exchanges go on; idle connections close. */
  stopAccepting(): void;
  /** Resolves when no exchange is open. */
  drained(): Promise<void>;
  /** Cuts what is left. */
  close(): Promise<void>;
  /** Open exchanges. */
  readonly open: number;
}

export interface ListenOptions {
  /** Undefined: all addresses, IPv6 as well where the machine has it. */
  readonly host: string | undefined;
  readonly port: number;
  /** Several processes share the port (Node 23.1 and later). */
  readonly reusePort?: boolean;
}

/** Answers that the front makes itself (malformed heads), so that the process can count and word them. */
export interface FrontHooks {
  onExchange(exchange: Exchange): void;
  /** `reason` is one of the 400-family wire reasons; returns the answer to send before closing. */
  onRefused(
    reason:
      | "malformed_request"
      | "request_head_timeout"
      | "header_too_large"
      | "unknown_expectation",
  ): OwnAnswer;
}

/** Upstream connection pools, one per process. Keyed by host, port and local address. */
export interface UpstreamOptions {
  /** Idle time after which a pooled connection is closed by us; under the peer's own. */
  readonly idleMs: number;
  readonly maxIdlePerHost: number;
}
