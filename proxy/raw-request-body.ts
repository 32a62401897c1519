/**
 * The body of a client's request as the fast front reads it: cut out of the connection's bytes only
 * while someone takes it, and held up to a limit so that a failed attempt can be repeated.
 */
import { ChunkedReader } from "./chunked-reader.ts";
import { MalformedMessage } from "./head-lines.ts";
import { hasHeader } from "./headers.ts";
import type { BodyFraming, BodySink, BodySource } from "./sides.ts";

const NO_TRAILERS: readonly string[] = [];
const NOBODY: BodySink = { chunk: () => true, end: () => undefined };

export interface RawBodyOptions {
  readonly framing: BodyFraming;
  /** Bytes held for another attempt. */
  readonly replayBytes: number;
  /** Somebody takes the body now, or nobody does any more: the connection looks what it may read. */
  onFlowChanged(): void;
  /** Bytes that were just fed are still being written. */
  onKept(): void;
}

export class RawRequestBody implements BodySource {
  readonly framing: BodyFraming;
  #options: RawBodyOptions;
  #sink: BodySink | undefined;
  #isPaused = false;
  /** Bytes to come, of a body with a length. */
  #left: number;
  #chunked: ChunkedReader | undefined;
  #trailers = NO_TRAILERS;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isHolding = true;
  #isEnded: boolean;
  /** What is fed now stays as it is. */
  #isLasting = true;

  constructor(options: RawBodyOptions) {
    const { framing } = options;
    this.#options = options;
    this.framing = framing;
    this.#left = framing.kind === "length" ? framing.length : 0;
    this.#isEnded = framing.kind === "none" || (framing.kind === "length" && framing.length === 0);
  }

  get complete(): boolean {
    return this.#isEnded;
  }

  get replayable(): boolean {
    return this.#isHolding;
  }

  /** `feed` may be called. */
  get isWanted(): boolean {
    return this.#sink !== undefined && !this.#isPaused && !this.#isEnded;
  }

  /** The one who takes the body asked to wait. */
  get isBlocked(): boolean {
    return this.#sink !== undefined && this.#isPaused && !this.#isEnded;
  }

  start(sink: BodySink): void {
    for (const bytes of this.#held) sink.chunk(bytes);
    if (this.#isEnded) return sink.end(this.#trailers);
    this.#take(sink);
  }

  resume(): void {
    if (this.#sink !== undefined) this.#take(this.#sink);
  }

  keep(): void {
    this.#options.onKept();
  }

  stop(): void {
    if (this.#sink === undefined) return;
    this.#sink = undefined;
    this.#options.onFlowChanged();
  }

  forget(): void {
    this.#isHolding = false;
    this.#held = [];
  }

  /** Reads the rest off for nobody. */
  drain(): void {
    this.forget();
    if (!this.#isEnded) this.#take(NOBODY);
  }

  /**
   * Takes what belongs to the body from `at` on; returns where it stopped. May throw. Bytes that do
   * not last are copied where they are held.
   */
  feed(bytes: Buffer, at: number, isLasting: boolean): number {
    this.#isLasting = isLasting;
    return this.framing.kind === "chunked"
      ? this.#feedChunked(bytes, at)
      : this.#feedLength(bytes, at);
  }

  #feedLength(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#give(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (this.#left === 0) this.#end(NO_TRAILERS);
    return end;
  }

  #feedChunked(bytes: Buffer, at: number): number {
    this.#chunked ??= new ChunkedReader({ onChunkedData: (data) => this.#give(data) }, "client");
    const end = this.#chunked.read(bytes, at);
    if (this.#chunked.isDone) this.#end(unframing(this.#chunked.trailers));
    return end;
  }

  #take(sink: BodySink): void {
    this.#sink = sink;
    this.#isPaused = false;
    this.#options.onFlowChanged();
  }

  #give(bytes: Buffer): void {
    this.#hold(bytes);
    if (this.#sink?.chunk(bytes) === false) this.#isPaused = true;
  }

  #end(trailers: readonly string[]): void {
    const sink = this.#sink;
    this.#trailers = trailers;
    this.#isEnded = true;
    this.#sink = undefined;
    sink?.end(trailers);
  }

  #hold(bytes: Buffer): void {
    if (!this.#isHolding) return;
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#options.replayBytes) this.forget();
    else this.#held.push(this.#isLasting ? bytes : Buffer.from(bytes));
  }
}

/** A trailer that frames would be read as a second head by somebody who merges trailers. */
function unframing(trailers: readonly string[]): readonly string[] {
  if (hasHeader(trailers, "content-length") || hasHeader(trailers, "transfer-encoding")) {
    throw new MalformedMessage("a trailer tells a length");
  }
  return trailers;
}
