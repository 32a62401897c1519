/**
 * The body of a client's HTTP/1.1 request: read only while someone takes it, and held up to a
 * limit so that a failed attempt can be followed by another.
 */
import type { IncomingMessage } from "node:http";
import type { BodyFraming, BodySink, BodySource } from "./sides.ts";

const NO_TRAILERS: readonly string[] = [];

export class RequestBody implements BodySource {
  readonly framing: BodyFraming;
  #request: IncomingMessage;
  #sink: BodySink | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #holdLimit: number;
  #isHolding = true;
  #isListening = false;
  #isEnded: boolean;

  constructor(request: IncomingMessage, framing: BodyFraming, replayBytes: number) {
    this.framing = framing;
    this.#request = request;
    this.#holdLimit = replayBytes;
    this.#isEnded = framing.kind === "none";
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
      sink.end(this.#trailers());
      return;
    }
    this.#sink = sink;
    this.#listen();
    this.#request.resume();
  }

  resume(): void {
    if (this.#sink !== undefined) this.#request.resume();
  }

  stop(): void {
    if (this.#sink === undefined) return;
    this.#sink = undefined;
    this.#request.pause();
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
    this.#request.resume();
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#request.on("data", this.#onData);
    this.#request.on("end", this.#onEnd);
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#hold(bytes);
    if (this.#sink?.chunk(bytes) === false) this.#request.pause();
  };

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(this.#trailers());
  };

  #hold(bytes: Buffer): void {
    if (!this.#isHolding) return;
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#holdLimit) this.forget();
    else this.#held.push(bytes);
  }

  #trailers(): readonly string[] {
    return this.framing.kind === "chunked" ? this.#request.rawTrailers : NO_TRAILERS;
  }
}
