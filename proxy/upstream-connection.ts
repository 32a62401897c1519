/**
 * One HTTP/1.1 connection to an upstream: a socket, the response parser and at most one request at
 * a time. It says when it can serve another request and never lends itself when it cannot.
 */
import type { Duplex } from "node:stream";
import { MalformedMessage } from "./head-lines.ts";
import { requestHeadText } from "./request-writer.ts";
import { ResponseParser } from "./response-parser.ts";
import type {
  BodyFraming,
  UpstreamFailure,
  UpstreamListener,
  UpstreamRequest,
  UpstreamStream,
} from "./sides.ts";
import type { ConnectFailure, ResponseHead } from "./types.ts";
import { type LateWriter, writeAtTurnEnd } from "./turn-end.ts";
import { UpstreamSocket } from "./upstream-socket.ts";

/** Rest of an unwanted answer that is read off to keep the connection; a longer one closes it. */
const MAX_DISCARD_BYTES = 65_536;
const SWITCHING_PROTOCOLS = 101;

/** The pool, as its connections see it. */
export interface ConnectionOwner {
  /** The connection can serve another request. */
  onConnectionIdle(connection: UpstreamConnection): void;
  onConnectionClosed(connection: UpstreamConnection): void;
}

export class UpstreamConnection implements UpstreamStream, LateWriter {
  readonly key: string;
  /** End of its time in the pool, by `performance.now()`; set by the pool. */
  idleUntil = 0;
  #owner: ConnectionOwner;
  #socket: UpstreamSocket;
  #parser: ResponseParser;
  #listener: UpstreamListener | undefined;
  #request: UpstreamRequest | undefined;
  #isConnected = false;
  #isClosed = false;
  #isRequestDone = true;
  /** A request without a body that leaves at the end of this turn; empty for none. */
  #unsent = "";
  #served = 0;
  #discardLeft = 0;
  #isDiscarding = false;
  #switched: Duplex | undefined;

  constructor(key: string, request: UpstreamRequest, owner: ConnectionOwner) {
    this.key = key;
    this.#owner = owner;
    this.#parser = new ResponseParser({
      onInformation: (head) => this.#listener?.onUpstreamInformation(head),
      onHead: (head, framing) => this.#onHead(head, framing),
      onBody: (bytes) => this.#onBody(bytes),
      onComplete: (trailers) => this.#onComplete(trailers),
    });
    this.#socket = new UpstreamSocket(request, {
      onConnect: () => this.#onConnect(),
      onBytes: (bytes) => this.#onBytes(bytes),
      onEnd: () => this.#onEnd(),
      onError: (error) => this.#onError(error),
      onClose: () => this.#onClose(),
      onDrain: () => this.#listener?.onUpstreamDrain(),
    });
  }

  get reused(): boolean {
    return this.#served > 1;
  }

  get isWriting(): boolean {
    return this.#socket.socket.writableLength > 0;
  }

  /** `Keep-Alive: timeout=` of the last answer in ms, -1 for none. */
  get idleHintMs(): number {
    return this.#parser.idleHintMs;
  }

  /** Nothing is known that speaks against sending a request. */
  get isUsable(): boolean {
    return !this.#isClosed && this.#socket.isUsable;
  }

  start(request: UpstreamRequest, listener: UpstreamListener): void {
    this.#request = request;
    this.#listener = listener;
    this.#served += 1;
    this.#isRequestDone = request.framing.kind === "none";
    this.#isDiscarding = false;
    this.#parser.expect(request.method);
    if (this.#isConnected) this.#begin();
  }

  chunk(bytes: Buffer): boolean {
    if (!this.#socket.isWritable || bytes.length === 0) return true;
    const { socket } = this.#socket;
    if (this.#request?.framing.kind !== "chunked") return socket.write(bytes);
    socket.cork();
    socket.write(`${bytes.length.toString(16)}\r\n`, "latin1");
    socket.write(bytes);
    const isFlowing = socket.write("\r\n", "latin1");
    socket.uncork();
    return isFlowing;
  }

  end(trailers: readonly string[]): void {
    if (!this.#socket.isWritable || this.#isRequestDone) return;
    this.#isRequestDone = true;
    if (this.#request?.framing.kind !== "chunked") return;
    this.#socket.socket.write(`0\r\n${trailerText(trailers)}\r\n`, "latin1");
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#listener = undefined;
    this.#isClosed = true;
    this.#socket.destroy();
  }

  discard(): void {
    this.#listener = undefined;
    if (!this.#isRequestDone) return this.destroy();
    this.#isDiscarding = true;
    this.#discardLeft = MAX_DISCARD_BYTES;
    this.#socket.resume();
  }

  #onConnect(): void {
    this.#isConnected = true;
    this.#begin();
  }

  #begin(): void {
    const request = this.#request;
    if (request === undefined) return;
    this.#listener?.onUpstreamConnected(this.reused);
    if (this.#isClosed) return;
    const { socket } = this.#socket;
    const text = requestHeadText(request);
    if (this.#isRequestDone) {
      this.#unsent = text;
      writeAtTurnEnd(this);
      return;
    }
    // The first piece of a small body leaves with the head: it is given in this tick or the next.
    socket.cork();
    socket.write(text, "latin1");
    this.#listener?.onUpstreamReady();
    process.nextTick(() => socket.uncork());
  }

  writeNow(): void {
    const text = this.#unsent;
    this.#unsent = "";
    if (text !== "" && !this.#isClosed) this.#socket.socket.write(text, "latin1");
  }

  #onBytes(bytes: Buffer): void {
    if (this.#unsent !== "") {
      if (this.reused) {
        this.#fail({ kind: "broken", message: "the upstream answered what it was not asked" });
        return;
      }
      // One that refuses whoever connects does so without a look at the request.
      this.writeNow();
    }
    if (this.#listener === undefined && !this.#isDiscarding) {
      // Bytes that nobody asked for: whatever follows cannot be trusted.
      this.destroy();
      return;
    }
    try {
      const used = this.#parser.read(bytes);
      if (used < bytes.length) this.#onSurplus(bytes.subarray(used));
      else this.#settle();
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.#fail({ kind: "bad", message: error.message });
    }
  }

  #onHead(head: ResponseHead, framing: BodyFraming): void {
    if (head.status !== SWITCHING_PROTOCOLS) {
      this.#listener?.onUpstreamHead(head, framing);
      return;
    }
    if (this.#request?.upgrade === "") {
      throw new MalformedMessage("101 came without a wish to switch protocols");
    }
    const listener = this.#listener;
    this.#listener = undefined;
    this.#isClosed = true;
    this.#switched = this.#socket.switchToStream();
    listener?.onUpstreamSwitched(head, this.#switched);
  }

  #onBody(bytes: Buffer): void {
    if (this.#isDiscarding) {
      this.#discardLeft -= bytes.length;
      if (this.#discardLeft < 0) this.destroy();
    } else if (this.#listener?.onUpstreamChunk(bytes) === false) {
      this.#socket.pauseLent();
    }
  }

  #onComplete(trailers: readonly string[]): void {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#isDiscarding = false;
    listener?.onUpstreamEnd(trailers);
  }

  /** Bytes behind the answer: the start of the new protocol, or a reason to close. */
  #onSurplus(bytes: Buffer): void {
    if (this.#switched === undefined) this.destroy();
    else this.#switched.unshift(Buffer.from(bytes));
  }

  /** After a complete answer: back to the pool, or closed. */
  #settle(): void {
    if (this.#isClosed || this.#listener !== undefined || this.#isDiscarding) return;
    this.#socket.settle();
    if (!this.#isRequestDone || !this.#parser.isReusable || !this.isUsable) return this.destroy();
    this.#request = undefined;
    this.#owner.onConnectionIdle(this);
  }

  #onEnd(): void {
    if (this.#listener !== undefined && !this.#parser.end()) {
      this.#fail({ kind: "broken", message: "the upstream closed before its answer was complete" });
    }
    this.destroy();
  }

  #onError(error: NodeJS.ErrnoException): void {
    const { message, code = "" } = error;
    this.#fail({ kind: "broken", message }, CONNECT_FAILURES[code] ?? "unreachable");
  }

  #onClose(): void {
    this.#fail({ kind: "broken", message: "the connection to the upstream was closed" });
    this.#owner.onConnectionClosed(this);
  }

  #fail(failure: UpstreamFailure, why: ConnectFailure = "reset"): void {
    const listener = this.#listener;
    const isConnected = this.#isConnected;
    this.destroy();
    listener?.onUpstreamFailure(isConnected ? this.#asSeen(failure) : notConnected(failure, why));
  }

  /**
   * What was not sent yet nobody worked on. Half an answer is worse than none: it says that the
   * request was worked on.
   */
  #asSeen(failure: UpstreamFailure): UpstreamFailure {
    if (this.#unsent !== "") return { kind: "unprocessed", message: failure.message };
    const isHalf = failure.kind === "broken" && this.#parser.sawByte;
    return isHalf ? { kind: "bad", message: failure.message } : failure;
  }
}

/** A peer that hangs up in the middle of a handshake got nothing of the request, however it did it. */
function notConnected({ message }: UpstreamFailure, failure: ConnectFailure): UpstreamFailure {
  return { kind: "connect", failure, message };
}

const CONNECT_FAILURES: Readonly<Record<string, ConnectFailure>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ETIMEDOUT: "timeout",
};

function trailerText(trailers: readonly string[]): string {
  let text = "";
  for (let i = 0; i < trailers.length; i += 2) text += `${trailers[i]}: ${trailers[i + 1]}\r\n`;
  return text;
}
