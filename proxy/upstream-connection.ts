/**
 * One HTTP/1.1 connection to an upstream: a socket, the response parser and at most one request at
 * a time. It says when it can serve another request and never lends itself when it cannot.
 */
import { connect, type Socket } from "node:net";
import { MalformedMessage } from "./head-lines.ts";
import { ResponseParser } from "./response-parser.ts";
import { requestHeadText } from "./request-writer.ts";
import type {
  BodyFraming,
  UpstreamFailure,
  UpstreamListener,
  UpstreamRequest,
  UpstreamStream,
} from "./sides.ts";
import type { ConnectFailure, ResponseHead } from "./types.ts";

/** Rest of an unwanted answer that is read off to keep the connection; a longer one closes it. */
const MAX_DISCARD_BYTES = 65_536;
const LAST_CHUNK = "0\r\n";

/** The pool, as its connections see it. */
export interface ConnectionOwner {
  /** The connection can serve another request. */
  onConnectionIdle(connection: UpstreamConnection): void;
  onConnectionClosed(connection: UpstreamConnection): void;
}

export class UpstreamConnection implements UpstreamStream {
  readonly key: string;
  /** End of its time in the pool, by `performance.now()`; set by the pool. */
  idleUntil = 0;
  #owner: ConnectionOwner;
  #socket: Socket;
  #parser: ResponseParser;
  #listener: UpstreamListener | undefined;
  #request: UpstreamRequest | undefined;
  #isConnected = false;
  #isWriteBroken = false;
  #isClosed = false;
  #requestDone = true;
  #served = 0;
  #discardLeft = 0;
  #isDiscarding = false;

  constructor(key: string, request: UpstreamRequest, owner: ConnectionOwner) {
    this.key = key;
    this.#owner = owner;
    this.#parser = new ResponseParser({
      onInformation: (head) => this.#listener?.onUpstreamInformation(head),
      onHead: (head, framing) => this.#onHead(head, framing),
      onBody: (bytes) => this.#onBody(bytes),
      onComplete: (trailers) => this.#onComplete(trailers),
    });
    this.#socket = connect({
      host: request.host,
      port: request.port,
      noDelay: true,
      // Half-close is the parser's business here, and the tunnel's after a switch.
      allowHalfOpen: true,
      ...(request.localAddress === "" ? {} : { localAddress: request.localAddress }),
    });
    this.#readOnAfterFailedWrite();
    this.#socket.on("connect", this.#onConnect);
    this.#socket.on("data", this.#onData);
    this.#socket.on("end", this.#onEnd);
    this.#socket.on("error", this.#onError);
    this.#socket.on("close", this.#onClose);
    this.#socket.on("drain", this.#onDrain);
  }

  get reused(): boolean {
    return this.#served > 1;
  }

  /** `Keep-Alive: timeout=` of the last answer in ms, -1 for none. */
  get idleHintMs(): number {
    return this.#parser.idleHintMs;
  }

  /** Nothing is known that speaks against sending a request. */
  get isUsable(): boolean {
    const socket = this.#socket;
    return !this.#isClosed && !this.#isWriteBroken && socket.writable && !socket.readableEnded;
  }

  start(request: UpstreamRequest, listener: UpstreamListener): void {
    this.#request = request;
    this.#listener = listener;
    this.#served += 1;
    this.#requestDone = request.framing.kind === "none";
    this.#isDiscarding = false;
    this.#parser.expect(request.method);
    if (this.#isConnected) this.#begin(true);
  }

  chunk(bytes: Buffer): boolean {
    if (this.#isClosed || this.#isWriteBroken || bytes.length === 0) return true;
    const socket = this.#socket;
    if (this.#request?.framing.kind !== "chunked") return socket.write(bytes);
    socket.cork();
    socket.write(`${bytes.length.toString(16)}\r\n`, "latin1");
    socket.write(bytes);
    const isFlowing = socket.write("\r\n", "latin1");
    socket.uncork();
    return isFlowing;
  }

  end(trailers: readonly string[]): void {
    if (this.#isClosed || this.#isWriteBroken || this.#requestDone) return;
    this.#requestDone = true;
    if (this.#request?.framing.kind === "chunked") {
      this.#socket.write(`${LAST_CHUNK}${trailerText(trailers)}\r\n`, "latin1");
    }
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
    if (!this.#requestDone) return this.destroy();
    this.#isDiscarding = true;
    this.#discardLeft = MAX_DISCARD_BYTES;
    this.#socket.resume();
  }

  /**
   * An upstream that answers early and closes makes our writes fail while its answer still lies
   * unread in the kernel. Node would destroy the socket and lose it, so a failed write only ends
   * the writing; the end of reading (data, then end or reset) ends the connection.
   */
  #readOnAfterFailedWrite(): void {
    const socket = this.#socket;
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error?: Error) => {
      const isWriteFailure = error !== undefined && "syscall" in error && error.syscall === "write";
      if (!isWriteFailure || this.#isClosed || this.#isWriteBroken) return destroy(error);
      this.#isWriteBroken = true;
      socket.resume();
      return socket;
    };
  }

  #begin(isReused: boolean): void {
    const request = this.#request;
    if (request === undefined) return;
    this.#listener?.onUpstreamConnected(isReused);
    if (this.#isClosed) return;
    const socket = this.#socket;
    const text = requestHeadText(request);
    if (this.#requestDone) {
      socket.write(text, "latin1");
      return;
    }
    // The first piece of a small body leaves with the head: it is given in this tick or the next.
    socket.cork();
    socket.write(text, "latin1");
    this.#listener?.onUpstreamReady();
    process.nextTick(uncork, socket);
  }

  readonly #onConnect = (): void => {
    this.#isConnected = true;
    this.#begin(false);
  };

  readonly #onData = (bytes: Buffer): void => {
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
  };

  #onHead(head: ResponseHead, framing: BodyFraming): void {
    if (head.status !== 101) {
      this.#listener?.onUpstreamHead(head, framing);
      return;
    }
    if (this.#request?.upgrade === "") {
      throw new MalformedMessage("101 came without a wish to switch protocols");
    }
    this.#switch(head);
  }

  #switch(head: ResponseHead): void {
    const listener = this.#listener;
    const socket = this.#socket;
    this.#listener = undefined;
    this.#isClosed = true;
    this.#requestDone = true;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("error", this.#onError);
    socket.off("drain", this.#onDrain);
    socket.pause();
    listener?.onUpstreamSwitched(head, socket);
  }

  #onBody(bytes: Buffer): void {
    if (this.#isDiscarding) {
      this.#discardLeft -= bytes.length;
      if (this.#discardLeft < 0) this.destroy();
    } else if (this.#listener?.onUpstreamChunk(bytes) === false) {
      this.#socket.pause();
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
    if (this.#socket.listenerCount("data", this.#onData) === 0) this.#socket.unshift(bytes);
    else this.destroy();
  }

  /** After a complete answer: back to the pool, or closed. */
  #settle(): void {
    if (this.#isClosed || this.#listener !== undefined || this.#isDiscarding) return;
    if (!this.#requestDone || !this.#parser.isReusable || !this.isUsable) return this.destroy();
    this.#request = undefined;
    this.#socket.resume();
    this.#owner.onConnectionIdle(this);
  }

  readonly #onEnd = (): void => {
    if (this.#listener !== undefined && !this.#parser.end()) {
      this.#fail({ kind: "broken", message: "the upstream closed before its answer was complete" });
    }
    this.destroy();
  };

  readonly #onError = (error: NodeJS.ErrnoException): void => {
    this.#fail(
      this.#isConnected
        ? { kind: "broken", message: error.message }
        : { kind: "connect", failure: connectFailure(error.code), message: error.message },
    );
  };

  readonly #onClose = (): void => {
    this.#fail({ kind: "broken", message: "the connection to the upstream was closed" });
    this.#owner.onConnectionClosed(this);
  };

  readonly #onDrain = (): void => {
    this.#listener?.onUpstreamDrain();
  };

  #fail(failure: UpstreamFailure): void {
    const listener = this.#listener;
    this.destroy();
    // Half an answer is worse than none: it says that the request was worked on.
    const isHalf = failure.kind === "broken" && this.#parser.sawByte;
    listener?.onUpstreamFailure(isHalf ? { kind: "bad", message: failure.message } : failure);
  }
}

const CONNECT_FAILURES: Readonly<Record<string, ConnectFailure>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ETIMEDOUT: "timeout",
};

function connectFailure(code: string | undefined): ConnectFailure {
  return CONNECT_FAILURES[code ?? ""] ?? "unreachable";
}

function trailerText(trailers: readonly string[]): string {
  let text = "";
  for (let i = 0; i < trailers.length; i += 2) text += `${trailers[i]}: ${trailers[i + 1]}\r\n`;
  return text;
}

function uncork(socket: Socket): void {
  socket.uncork();
}
