/**
 * One request of a client, whatever its protocol: which attempt runs for it, whether anything was
 * answered, and who is to be told that the client left. The protocols add how an answer is written.
 */
import type { Duplex } from "node:stream";
import { ForwardedAttempt } from "./attempt.ts";
import { BodyPeek, isPeekable } from "./body-peek.ts";
import type { BodyFraming, BodySink, BodySource, ClientSide } from "./sides.ts";
import type {
  Attempt,
  BodyLook,
  Exchange,
  OwnAnswer,
  RequestHead,
  ResponseHead,
  RunningAttempt,
} from "./types.ts";
import type { Upstream } from "./upstream.ts";
import { CLOSE_GOING_AWAY } from "./websocket-close.ts";

/** Up to this size a copy is cheaper than waiting for the write (measured). */
const MAX_COPIED_BYTES = 16_384;

/** Keeps a body up to a limit. */
class BodyCollector implements BodySink {
  readonly #mostBytes: number;
  readonly #onBody: (body: Buffer | "too-large") => void;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #isOver = false;

  constructor(mostBytes: number, onBody: (body: Buffer | "too-large") => void) {
    this.#mostBytes = mostBytes;
    this.#onBody = onBody;
  }

  chunk(bytes: Buffer): boolean {
    if (this.#isOver) return true;
    this.#bytes += bytes.length;
    // The bytes are valid until the return only.
    if (this.#bytes <= this.#mostBytes) this.#pieces.push(Buffer.from(bytes));
    else this.#finish("too-large");
    return true;
  }

  end(): void {
    if (!this.#isOver) this.#finish(Buffer.concat(this.#pieces));
  }

  #finish(body: Buffer | "too-large"): void {
    this.#isOver = true;
    this.#onBody(body);
  }
}

/** The bytes of an answer of ours. */
export function answerBytes({ body, bytes }: OwnAnswer): Buffer {
  return bytes === undefined ? Buffer.from(body) : Buffer.from(bytes);
}

export abstract class ClientExchange implements Exchange, ClientSide {
  readonly receivedAt = performance.now();
  abstract readonly head: RequestHead;
  abstract readonly body: BodySource;
  /** Protocol of a wanted upgrade as the client spelled it, empty for none. */
  protected abstract readonly upgradeSpelling: string;
  #upstream: Upstream;
  #attempt: ForwardedAttempt | undefined;
  #peek: BodyPeek | undefined;
  #isAttemptRunning = false;
  #isAnswered = false;
  #isClosed = false;
  #clientGone = false;
  #goneListener: (() => void) | undefined;
  /** Pieces that Node still writes from the upstream's read buffer. */
  #lent = 0;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  get clientGone(): boolean {
    return this.#clientGone;
  }

  get pristine(): boolean {
    return !this.#isAnswered && !this.#isClosed;
  }

  get replayable(): boolean {
    return this.body.replayable;
  }

  protected get isAnswered(): boolean {
    return this.#isAnswered;
  }

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  onClientGone(listener: () => void): void {
    if (this.#clientGone) listener();
    else this.#goneListener = listener;
  }

  peekBody(look: BodyLook): void {
    if (this.#attempt !== undefined) throw new Error("peekBody() after an attempt");
    if (!isPeekable(this.head, look.maxBytes)) return look.onBody(null);
    this.#peek = new BodyPeek(this.body, look);
    this.#peek.start();
  }

  answer(answer: OwnAnswer): void {
    if (!this.pristine) throw new Error("An answer was already begun: answer() came too late");
    this.#isAnswered = true;
    this.writeAnswer(answer);
  }

  awaitBody(onArrival: (isEmpty: boolean) => void): void {
    if (this.#attempt !== undefined) throw new Error("awaitBody() after an attempt");
    let isOver = false;
    const arrived = (isEmpty: boolean): void => {
      if (isOver) return;
      isOver = true;
      // Not from within the reading: what the listener starts reads on.
      process.nextTick(onArrival, isEmpty);
    };
    const chunk = (): boolean => {
      this.body.stop();
      arrived(false);
      return true;
    };
    this.sendContinue();
    this.body.start({ chunk, end: () => arrived(true) });
  }

  collect(mostBytes: number, onBody: (body: Buffer | "too-large") => void): void {
    const { framing } = this.body;
    if (framing.kind === "length" && framing.length > mostBytes) return onBody("too-large");
    const sink = new BodyCollector(mostBytes, (body) => {
      if (body === "too-large") this.body.stop();
      if (!this.#clientGone) onBody(body);
    });
    this.sendContinue();
    this.body.start(sink);
    // No attempt will follow.
    this.body.forget();
  }

  forward(attempt: Attempt): RunningAttempt {
    if (this.#isAttemptRunning) throw new Error("forward() while another attempt runs");
    if (!this.pristine) throw new Error("forward() after an answer was begun");
    if (!this.replayable) throw new Error("forward() after more was sent than is held");
    const running = new ForwardedAttempt(attempt, {
      client: this,
      upstream: this.#upstream,
      upgrade: this.upgradeSpelling,
    });
    this.#attempt = running;
    this.#isAttemptRunning = true;
    running.start();
    return running;
  }

  cut(websocketCloseCode = CLOSE_GOING_AWAY): void {
    if (this.#attempt === undefined) this.destroyClient();
    else this.#attempt.cut(websocketCloseCode);
  }

  attemptEnded(): void {
    this.#isAttemptRunning = false;
  }

  sendHead(head: ResponseHead, headers: readonly string[], framing: BodyFraming): void {
    this.#isAnswered = true;
    this.writeHead(head, headers, framing);
  }

  abstract sendContinue(): void;
  abstract sendInformation(head: ResponseHead): void;
  abstract sendChunk(bytes: Buffer): boolean;
  abstract sendEnd(trailers: readonly string[]): void;
  abstract sendUpgrade(head: ResponseHead, headers: readonly string[]): Duplex | undefined;
  abstract destroyClient(): void;

  protected abstract writeAnswer(answer: OwnAnswer): void;
  protected abstract writeHead(
    head: ResponseHead,
    headers: readonly string[],
    framing: BodyFraming,
  ): void;
  /** The client's side waits for `drain` before it takes more. */
  protected abstract isBlocked(): boolean;
  /** The last thing that happens to the exchange. */
  protected abstract onClosed(): void;

  /** A switched connection is an answer too. */
  protected markAnswered(): void {
    this.#isAnswered = true;
  }

  /**
   * Node writes later, and the bytes are valid now: small pieces are copied, large ones lent. Of a
   * lent piece `writtenPiece` must be called once it was written.
   */
  protected takePiece(bytes: Buffer): { readonly piece: Buffer; readonly isLent: boolean } {
    const isLent = bytes.length > MAX_COPIED_BYTES;
    if (isLent) this.#lent += 1;
    return { piece: isLent ? bytes : Buffer.from(bytes), isLent };
  }

  protected readonly writtenPiece = (): void => {
    this.#lent -= 1;
    if (this.#lent === 0 && !this.isBlocked()) this.#attempt?.clientDrained();
  };

  protected readonly onDrain = (): void => {
    if (this.#lent === 0) this.#attempt?.clientDrained();
  };

  /** The client is gone, or said something that ends its request. */
  protected giveUp(): void {
    if (this.#clientGone) return;
    this.#clientGone = true;
    this.#peek?.cancel();
    this.#attempt?.clientGone();
    this.#goneListener?.();
  }

  protected close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClosed();
  }
}
