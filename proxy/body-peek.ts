/**
 * A look at a client's request body before anything is decided: read as far as it arrives within
 * a size and a time, and left as it was for the attempts that follow, because the body holds it.
 */
import type { BodySink, BodySource } from "./sides.ts";
import type { BodyLook, RequestHead } from "./types.ts";

export class BodyPeek implements BodySink {
  readonly #body: BodySource;
  readonly #look: BodyLook;
  readonly #timer: NodeJS.Timeout;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #isOver = false;

  constructor(body: BodySource, look: BodyLook) {
    this.#body = body;
    this.#look = look;
    this.#timer = setTimeout(() => this.#finish(null), look.withinMs);
  }

  /** Separate from the constructor: a body that is here already answers at once. */
  start(): void {
    this.#body.start(this);
  }

  chunk(bytes: Buffer): boolean {
    if (this.#isOver) return true;
    // The bytes are valid until the return only.
    this.#parts.push(Buffer.from(bytes));
    this.#bytes += bytes.length;
    if (this.#bytes > this.#look.maxBytes) this.#finish(null);
    return true;
  }

  end(): void {
    const [only] = this.#parts;
    const isWhole = this.#parts.length === 1 && only !== undefined;
    this.#finish(isWhole ? only : Buffer.concat(this.#parts, this.#bytes));
  }

  /** The client left: nobody is to be told any more. */
  cancel(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #finish(body: Buffer | null): void {
    if (this.#isOver) return;
    this.cancel();
    if (body === null) this.#body.stop();
    this.#look.onBody(body);
  }
}

/** Whether a look may succeed: a body that is announced, not too long, and not waited for by a 100. */
export function isPeekable(head: RequestHead, maxBytes: number): boolean {
  if (head.expectsContinue || head.upgrade !== "") return false;
  return head.contentLength !== 0 && head.contentLength <= maxBytes;
}
