/**
 * Buffers that upstream sockets read into. One buffer per socket is used over and over, because a
 * new 64 KiB buffer per read is what bulk downloads cost most in Node. Busy sockets borrow a large
 * one and give it back when their answer is complete.
 */

/** Enough for ordinary answers; only pages that were written to take memory. */
const SMALL_BYTES = 65_536;
/** Measured: larger than this gains nothing, 64 to 128 KiB costs twice as much per MiB. */
const LARGE_BYTES = 524_288;
/** Large buffers that are kept for the next busy socket. */
const MAX_SPARE = 8;

const spare: Buffer[] = [];

/** The read buffer of one socket. */
export class ReadBuffer {
  #bytes: Buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);
  #isLent = false;

  /** For the next read. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** A read filled `count` bytes: a full buffer asks for a larger one. */
  filled(count: number): void {
    const isFull = count === this.#bytes.length && count < LARGE_BYTES;
    // A lent buffer stays with whoever writes it; the next read goes elsewhere.
    if (isFull) this.#replace(spare.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES));
  }

  /** Someone still writes from this buffer: nothing is read into it until `returned`. */
  lend(): void {
    this.#isLent = true;
  }

  returned(): void {
    this.#isLent = false;
  }

  /** The answer is complete: the large buffer goes to the next who needs one. */
  settle(): void {
    const bytes = this.#bytes;
    const isLarge = bytes.length === LARGE_BYTES;
    if (!this.#isLent && !isLarge) return;
    if (isLarge && !this.#isLent && spare.length < MAX_SPARE) spare.push(bytes);
    this.#replace(Buffer.allocUnsafeSlow(SMALL_BYTES));
  }

  #replace(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#isLent = false;
  }
}
