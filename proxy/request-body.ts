/**
 * The body of a client's request: read only while someone takes it, and held up to a limit so that
 * a failed attempt can be followed by another. The same for HTTP/1.1 and HTTP/2.
 */
import type { Readable } from "node:stream";
import type { BodyFraming, BodySink, BodySource } from "./sides.ts";

export interface RequestBodyOptions {
  readonly framing: BodyFraming;
  /** Bytes held for another attempt. */
  readonly replayBytes: number;
  /** Asked for when the body is complete. */
  trailers(): readonly string[];
}

export class RequestBody implements BodySource {
  readonly framing: BodyFraming;
  #source: Readable;
  #options: RequestBodyOptions;
  #sink: BodySink | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isHolding = true;
  #isListening = false;
  #isEnded: boolean;

  constructor(source: Readable, options: RequestBodyOptions) {
    this.#source = source;
    this.#options = options;
    this.framing = options.framing;
    this.#isEnded = options.framing.kind === "none";
  }

  get complete(): boolean {
    return this.#isEnded;
  }

  get replayable(): boolean {
    return this.#isHolding;
  }

  start(sink: BodySink): void {
    for (const bytes of this.#held) sink.chunk(bytes);
    if (this.#isEnded) {
      sink.end(this.#options.trailers());
      return;
    }
    this.#sink = sink;
    this.#listen();
    this.#source.resume();
  }

  resume(): void {
    if (this.#sink !== undefined) this.#source.resume();
  }

  keep(): void {
    // Node reads each piece into a buffer of its own.
  }

  stop(): void {
    if (this.#sink === undefined) return;
    this.#sink = undefined;
    this.#source.pause();
  }

  forget(): void {
    this.#isHolding = false;
    this.#held = [];
  }

  /** Reads the rest off for nobody. */
  drain(): void {
    this.forget();
    if (this.#isEnded) return;
    this.#sink = { chunk: () => true, end: () => undefined };
    this.#listen();
    this.#source.resume();
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#source.on("data", this.#onData);
    this.#source.on("end", this.#onEnd);
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#hold(bytes);
    if (this.#sink?.chunk(bytes) === false) this.#source.pause();
  };

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(this.#options.trailers());
  };

  #hold(bytes: Buffer): void {
    if (!this.#isHolding) return;
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#options.replayBytes) this.forget();
    else this.#held.push(bytes);
  }
}
