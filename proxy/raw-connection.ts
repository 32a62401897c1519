/**
 * One connection of a client on the fast front: cuts what arrives into heads and bodies, serves one
 * request after the other, and holds no more than a read-ahead of what nobody has asked for yet.
 *
 *   head -> exchange (body, answer) -> head ...      | closing: the last answer is decided
 */
import type { Socket } from "node:net";
import { withoutMapping } from "../common/peer-address.ts";
import { lingerAndClose, rawAnswer } from "./client-connection.ts";
import { ClientReads, type ReadsOwner } from "./client-reads.ts";
import { MalformedMessage } from "./head-lines.ts";
import { headerTokens } from "./headers.ts";
import { RawExchange, type RawExchangeOwner } from "./raw-exchange.ts";
import type { RawRequestBody } from "./raw-request-body.ts";
import { HeadTooLarge, RequestHeadReader } from "./raw-head-reader.ts";
import {
  announcesBody,
  type ParsedHead,
  readRequestHead,
  type ReadRequest,
} from "./request-head.ts";
import type { Exchange, FrontHooks } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** Bytes behind the current request, or of a body that nobody reads yet, that are read ahead. */
const READ_AHEAD_BYTES = 65_536;
/** The start of an HTTP/2 client preface (RFC 9113 3.4); no HTTP/1.1 request begins so. */
const PREFACE = Buffer.from("PRI * HTTP/2.0");

export type RefusedReason = Parameters<FrontHooks["onRefused"]>[0];

/** The front, as its connections see it. */
export interface RawConnectionOwner {
  readonly upstream: Upstream;
  readonly replayBytes: number;
  readonly maxHeadBytes: number;
  readonly headTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly keepAliveLines: string;
  readonly highWaterBytes: number;
  readonly isStopping: boolean;
  readonly hooks: FrontHooks;
  /** Takes connections that speak HTTP/2, where the front serves them. */
  readonly h2c: { accept(socket: Socket): void } | undefined;
  onExchange(exchange: Exchange): void;
  onExchangeClosed(): void;
  onGone(connection: RawConnection): void;
}

export class RawConnection implements RawExchangeOwner, ReadsOwner {
  readonly socket: Socket;
  #reads: ClientReads;
  #owner: RawConnectionOwner;
  #origin: { readonly remoteAddress: string; readonly remotePort: number };
  #isEncrypted: boolean;
  #reader: RequestHeadReader;
  #exchange: RawExchange | undefined;
  /** What arrived and was not used yet. */
  #input: Buffer | undefined;
  /** It stays as it is when its reading is over. */
  #isLasting = true;
  #isFirst = true;
  #isProcessing = false;
  #isPaused = false;
  #isClosing = false;
  /** The client sends no more. */
  #isHalfClosed = false;
  /** When the current wait for a head is over, by `performance.now()`. */
  #deadlineAt: number;

  constructor(accepted: Socket, owner: RawConnectionOwner) {
    this.#owner = owner;
    this.#reads = new ClientReads(accepted, this, owner.highWaterBytes);
    const { socket } = this.#reads;
    this.socket = socket;
    // Read once: a socket forgets its peer when it closes.
    this.#origin = {
      remoteAddress: withoutMapping(socket.remoteAddress ?? ""),
      remotePort: socket.remotePort ?? 0,
    };
    this.#isEncrypted = "encrypted" in socket;
    this.#reader = new RequestHeadReader(owner.maxHeadBytes);
    this.#deadlineAt = performance.now() + owner.headTimeoutMs;
    socket.on("end", this.#onEnd);
    socket.on("drain", this.#onDrain);
    socket.on("error", ignoreError);
    socket.on("close", this.#onClose);
  }

  get upstream(): Upstream {
    return this.#owner.upstream;
  }

  get replayBytes(): number {
    return this.#owner.replayBytes;
  }

  get keepAliveLines(): string {
    return this.#owner.keepAliveLines;
  }

  get isStopping(): boolean {
    return this.#owner.isStopping;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  get isQuiet(): boolean {
    const isLast = this.#isClosing || this.#isHalfClosed || this.#owner.isStopping;
    return !isLast && this.#input === undefined;
  }

  get expectsMore(): boolean {
    return this.#exchange?.body.complete === false;
  }

  onFlowChanged(): void {
    this.#process();
  }

  onBodyKept(): void {
    if (!this.#isLasting) this.#reads.keep();
  }

  closeAfterAnswer(): void {
    this.#isClosing = true;
  }

  handOver(): void {
    const { socket } = this;
    const early = this.#lastingInput();
    this.#input = undefined;
    this.#reads.release();
    socket.off("end", this.#onEnd);
    socket.off("drain", this.#onDrain);
    socket.off("close", this.#onClose);
    socket.on("close", () => this.#owner.onGone(this));
    socket.pause();
    if (early !== undefined) socket.unshift(early);
  }

  onExchangeClosed(closed: RawExchange): void {
    this.#owner.onExchangeClosed();
    // A large answer may be read off when the next request is served already.
    if (this.socket.destroyed || closed !== this.#exchange) return;
    if (this.#isClosing) return this.#linger();
    this.#deadlineAt = performance.now() + this.#owner.headTimeoutMs;
    if (this.#exchange?.body.complete === true) this.#awaitNext();
  }

  /** Ends what waits too long for a head, and idle connections when the front stops. */
  sweep(now: number): void {
    if (this.#exchange !== undefined && !this.#exchange.isDone) return;
    if (this.#isClosing || now < this.#deadlineAt) return;
    if (this.#reader.isPartial) this.#refuse("request_head_timeout");
    else this.socket.destroy();
  }

  /** At once; what was answered so far still goes out. */
  destroy(): void {
    this.#exchange?.writeNow();
    this.socket.destroy();
  }

  stopWhenIdle(): void {
    if (this.#exchange === undefined && !this.#reader.isPartial) this.socket.destroy();
  }

  onBytes(bytes: Buffer, isLasting: boolean): void {
    if (this.#isClosing && this.#exchange === undefined) return;
    this.#isLasting = isLasting || this.#input !== undefined;
    this.#input = this.#input === undefined ? bytes : Buffer.concat([this.#input, bytes]);
    this.#process();
    this.#lastingInput();
  }

  /** What is not used yet, in memory that nobody reads into. */
  #lastingInput(): Buffer | undefined {
    if (this.#input !== undefined && !this.#isLasting) this.#input = Buffer.from(this.#input);
    this.#isLasting = true;
    return this.#input;
  }

  readonly #onEnd = (): void => {
    this.#isHalfClosed = true;
    this.#exchange?.writeNow();
    // What came before the end is served.
    this.#process();
    // A client that ends its side before its answer is complete is gone, as with stock.
    if (this.#exchange === undefined || this.#exchange.isDone) this.socket.end();
    else this.socket.destroy();
    this.#exchange?.lost();
  };

  readonly #onDrain = (): void => {
    this.#exchange?.socketDrained();
  };

  readonly #onClose = (): void => {
    this.#exchange?.lost();
    this.#owner.onGone(this);
  };

  /** Uses what has arrived as far as somebody wants it. */
  #process(): void {
    if (this.#isProcessing) return;
    this.#isProcessing = true;
    try {
      while (this.#input !== undefined && this.#step(this.#input));
    } catch (error) {
      this.#refuse(refusedReason(error));
    } finally {
      this.#isProcessing = false;
    }
    this.#balance();
  }

  /** One head or one piece of a body; false when nothing more can be used now. */
  #step(input: Buffer): boolean {
    if (this.socket.destroyed) return false;
    const exchange = this.#exchange;
    if (exchange === undefined) return !this.#isClosing && this.#readHead(input);
    if (!exchange.body.isWanted) return false;
    this.#feed(exchange.body, this.#reads.canKeep ? input : (this.#lastingInput() ?? input));
    if (exchange.isDone && exchange.body.complete && !this.#isClosing) this.#awaitNext();
    return true;
  }

  #feed(body: RawRequestBody, bytes: Buffer): void {
    this.#use(bytes, body.feed(bytes, 0, this.#isLasting));
  }

  #readHead(input: Buffer): boolean {
    if (this.#isFirst && this.#isPreface(input)) return false;
    const wasPartial = this.#reader.isPartial;
    this.#use(input, this.#reader.read(input, 0));
    const head = this.#reader.take();
    if (head !== undefined) this.#dispatch(head);
    else if (!wasPartial) this.#deadlineAt = performance.now() + this.#owner.headTimeoutMs;
    return head !== undefined;
  }

  /** Whether these first bytes are, or may become, the preface of HTTP/2. */
  #isPreface(input: Buffer): boolean {
    const { h2c } = this.#owner;
    const compared = Math.min(input.length, PREFACE.length);
    if (h2c === undefined || input.compare(PREFACE, 0, compared, 0, compared) !== 0) {
      this.#isFirst = false;
      return false;
    }
    if (compared < PREFACE.length) return true;
    this.#isFirst = false;
    this.handOver();
    this.socket.off("error", ignoreError);
    this.#owner.onGone(this);
    h2c.accept(this.socket);
    return true;
  }

  #dispatch(parsed: ParsedHead): void {
    const isUpgrade = isSwitchable(parsed.rawHeaders);
    const read = readRequestHead(parsed, {
      ...this.#origin,
      isEncrypted: this.#isEncrypted,
      isUpgrade,
    });
    if (read === undefined) return this.#refuse("malformed_request");
    if (hasUnknownExpectation(read)) return this.#refuse("unknown_expectation");
    const exchange = new RawExchange(read, this);
    this.#exchange = exchange;
    this.#owner.onExchange(exchange);
  }

  #use(input: Buffer, end: number): void {
    this.#input = end >= input.length ? undefined : input.subarray(end);
  }

  /** The request is over, body and answer: the next one may come, or be here already. */
  #awaitNext(): void {
    this.#exchange = undefined;
    this.#deadlineAt = performance.now() + this.#owner.keepAliveMs;
    if (this.#owner.isStopping) return this.#linger();
    // Later: the attempt of an answer that did not wait has not told its handler yet.
    if (this.#input !== undefined) process.nextTick(processNext, this);
  }

  /** For `processNext`. */
  goOn(): void {
    this.#process();
  }

  /** Stops reading when enough lies here unused, and reads on when it is used. */
  #balance(): void {
    // While nobody takes the body it is read ahead, since only a reader sees its client leave.
    const unused = this.#input?.length ?? 0;
    const most = this.#exchange?.body.isBlocked === true ? 0 : READ_AHEAD_BYTES;
    const isPausing = unused > most;
    if (isPausing === this.#isPaused || this.socket.destroyed) return;
    this.#isPaused = isPausing;
    if (isPausing) this.socket.pause();
    else this.socket.resume();
  }

  #refuse(reason: RefusedReason): void {
    if (this.#isClosing && this.#exchange === undefined) return;
    const answer = this.#owner.hooks.onRefused(reason);
    const exchange = this.#exchange;
    this.#input = undefined;
    this.#isClosing = true;
    if (exchange !== undefined && !exchange.isDone) return exchange.refuseBody(answer);
    // Behind a complete answer the rest of a body went wrong: there is nobody to tell.
    if (exchange !== undefined) return void this.socket.destroy();
    this.socket.write(rawAnswer(answer));
    this.#linger();
  }

  /** Ends our side; what the client still sends is thrown away for a bounded while. */
  #linger(): void {
    this.#isClosing = true;
    this.#input = undefined;
    this.#isPaused = false;
    this.#reads.release();
    lingerAndClose(this.socket);
  }
}

function processNext(connection: RawConnection): void {
  connection.goOn();
}

function refusedReason(error: unknown): RefusedReason {
  if (error instanceof HeadTooLarge) return "header_too_large";
  if (error instanceof MalformedMessage) return "malformed_request";
  throw error;
}

/** A wish to switch that can be granted: h2c by upgrade is obsolete, and a body has no clear place. */
function isSwitchable(headers: readonly string[]): boolean {
  const protocols = headerTokens(headers, "upgrade");
  if (protocols.length === 0 || protocols[0] === "h2c") return false;
  return headerTokens(headers, "connection").includes("upgrade") && !announcesBody(headers);
}

function hasUnknownExpectation({ head }: ReadRequest): boolean {
  if (head.expectsContinue || head.httpVersion !== "1.1") return false;
  return headerTokens(head.headers, "expect").length > 0;
}

function ignoreError(): void {
  // `close` follows and says the same.
}
