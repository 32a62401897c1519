/**
 * The two sides between which an attempt stands: the client's (its body in, the answer out) and
 * the upstream's (the request out, the answer in). Each protocol implements its side once, so that
 * HTTP/1.1 and h2c meet in any combination.
 */
import type { Duplex } from "node:stream";
import type { ConnectFailure, Dialer, RequestHead, ResponseHead } from "./types.ts";

/** How the length of a body is told: not at all (no body), by number, by its coding, by the end. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly length: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until-close" };

export const NO_BODY: BodyFraming = { kind: "none" };
export const CHUNKED: BodyFraming = { kind: "chunked" };
export const UNTIL_CLOSE: BodyFraming = { kind: "until-close" };

/** Takes the request body. */
export interface BodySink {
  /**
   * The bytes are valid until the return, or until their last use where the source is told to
   * `keep` them before it. `false` asks the source to stop until `resume`.
   */
  chunk(bytes: Buffer): boolean;
  /** The body is complete. */
  end(trailers: readonly string[]): void;
}

/** The request body of a client. */
export interface BodySource {
  readonly framing: BodyFraming;
  /** Everything arrived from the client and was given to a sink. */
  readonly complete: boolean;
  /** All that was ever given to a sink is still held. */
  readonly replayable: boolean;
  /** Gives what is held, then what comes. */
  start(sink: BodySink): void;
  resume(): void;
  /** The bytes that a sink was just given are still being written. */
  keep(): void;
  /** No sink any more; the source holds still. */
  stop(): void;
  /** No later attempt will come: nothing more is held. */
  forget(): void;
}

/** What an attempt needs of the client's side. */
export interface ClientSide {
  readonly head: RequestHead;
  readonly body: BodySource;
  /** 100 to a client that waits for it; nothing otherwise. */
  sendContinue(): void;
  /** Any other interim answer. */
  sendInformation(head: ResponseHead): void;
  sendHead(head: ResponseHead, headers: readonly string[], framing: BodyFraming): void;
  /**
   * The bytes are valid until the return. `false` asks to stop until the exchange calls
   * `clientDrained` of its attempt; then they stay valid until that or the end of the answer.
   */
  sendChunk(bytes: Buffer): boolean;
  sendEnd(trailers: readonly string[]): void;
  /** Hands the connection over after a 101; undefined when the client cannot switch. */
  sendUpgrade(head: ResponseHead, headers: readonly string[]): Duplex | undefined;
  /** Ends the client's connection or stream without completing the answer. */
  destroyClient(): void;
  /** The attempt is over; the exchange may start another. */
  attemptEnded(): void;
}

/** One request on its way to an upstream. */
export interface UpstreamRequest {
  readonly protocol: "http1" | "h2c";
  readonly host: string;
  readonly port: number;
  readonly localAddress: string;
  /** Opens the connection another way than plain TCP. */
  readonly dialer?: Dialer | undefined;
  readonly method: string;
  readonly target: string;
  /** The handler's list; framing and hop-by-hop headers in it are not sent. */
  readonly headers: readonly string[];
  /** What this hop needs beside them: `Connection`, `Upgrade`, `TE`, `Expect`, `Trailer`. */
  readonly hopHeaders: readonly string[];
  readonly framing: BodyFraming;
  /** Protocol of a wanted upgrade as the client spelled it, empty for none. */
  readonly upgrade: string;
}

/** Why an upstream stream ended without a complete answer. */
export type UpstreamFailure =
  | { readonly kind: "connect"; readonly failure: ConnectFailure; readonly message: string }
  /** The upstream says that it has not looked at the request (HTTP/2), or it never left (HTTP/1.1). */
  | { readonly kind: "unprocessed"; readonly message: string }
  | { readonly kind: "broken"; readonly message: string }
  | { readonly kind: "bad"; readonly message: string };

/** What an upstream stream tells its attempt. Nothing after `onUpstreamEnd` or `onUpstreamFailure`. */
export interface UpstreamListener {
  onUpstreamConnected(reused: boolean): void;
  /** The head is on its way; the body may follow now. */
  onUpstreamReady(): void;
  /** An interim answer, 101 excluded. */
  onUpstreamInformation(head: ResponseHead): void;
  onUpstreamHead(head: ResponseHead, framing: BodyFraming): void;
  /**
   * The bytes are valid until the return. `false` pauses the stream, and then they stay valid
   * until `resume` or the end of the answer.
   */
  onUpstreamChunk(bytes: Buffer): boolean;
  onUpstreamEnd(trailers: readonly string[]): void;
  /** The upstream switched protocols; the stream is over, the socket is the attempt's. */
  onUpstreamSwitched(head: ResponseHead, socket: Duplex): void;
  onUpstreamFailure(failure: UpstreamFailure): void;
  /** The upstream takes body bytes again. */
  onUpstreamDrain(): void;
}

/** One request and its answer on a connection to an upstream. */
export interface UpstreamStream extends BodySink {
  /** A connection that had served another request before. */
  readonly reused: boolean;
  /** Bytes of the body are not written yet. */
  readonly isWriting: boolean;
  /** Sends the head, at once or as soon as the connection stands. Called once per stream. */
  start(request: UpstreamRequest, listener: UpstreamListener): void;
  /** The answer may be read again after `onUpstreamChunk` returned `false`. */
  resume(): void;
  /** Ends the stream and, where the protocol has one request at a time, its connection. */
  destroy(): void;
  /** Reads the rest of the answer off without telling anyone, so that the connection can be kept. */
  discard(): void;
}
