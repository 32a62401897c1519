/**
 * Buffers that sockets read into. One buffer per socket is used over and over, because a
 * new 64 KiB buffer per read is what bulk downloads cost most in Node. A socket that fills its
 * buffer gets a larger one, and gives it back when its answer is complete.
 */

/** Enough for ordinary answers; thousands of connections may be open. */
const SMALL_BYTES = 16_384;
const MEDIUM_BYTES = 65_536;
/** Measured: larger than this gains nothing, 64 to 128 KiB costs twice as much per MiB. */
const LARGE_BYTES = 524_288;
/** Large buffers at most, 32 MiB: whoever comes later is served from medium ones. */
const MAX_LARGE = 64;
/** Buffers of each size that are kept for the next busy socket. */
const MAX_SPARE = 8;

const spareMedium: Buffer[] = [];
const spareLarge: Buffer[] = [];
let largeInUse = 0;

/** The read buffer of one socket. */
export class ReadBuffer {
  #bytes: Buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);
  #isLent = false;
  #isLarge = false;
  /** A connection that once brought much does so again. */
  #wasLarge = false;

  /** For the next read. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** A read filled `count` bytes: a full buffer asks for a larger one. */
  filled(count: number): void {
    if (count < this.#bytes.length || this.#isLarge) return;
    // A lent buffer stays with whoever writes it; the next read goes elsewhere.
    const isBulk = this.#wasLarge || count === MEDIUM_BYTES;
    if (isBulk && largeInUse < MAX_LARGE) this.#replace(take(spareLarge, LARGE_BYTES), true);
    else if (count < MEDIUM_BYTES) this.#replace(take(spareMedium, MEDIUM_BYTES), false);
  }

  /** Someone still writes from this buffer: nothing is read into it until `returned`. */
  lend(): void {
    this.#isLent = true;
  }

  returned(): void {
    this.#isLent = false;
  }

  /** The buffer is left to whoever writes from it, without waiting for them. */
  giveAway(): void {
    this.#replace(Buffer.allocUnsafeSlow(SMALL_BYTES), false);
  }

  /** The answer is complete: a larger buffer goes to the next who needs one. */
  settle(): void {
    const bytes = this.#bytes;
    const isSmall = bytes.length === SMALL_BYTES;
    if (!this.#isLent && isSmall) return;
    if (!this.#isLent) keep(this.#isLarge ? spareLarge : spareMedium, bytes);
    this.#replace(Buffer.allocUnsafeSlow(SMALL_BYTES), false);
  }

  /** The socket is gone. What was lent is still being written, and is left to the collector. */
  release(): void {
    if (this.#isLarge) largeInUse -= 1;
    this.#isLarge = false;
  }

  #replace(bytes: Buffer, isLarge: boolean): void {
    this.release();
    if (isLarge) largeInUse += 1;
    this.#isLarge = isLarge;
    this.#wasLarge ||= isLarge;
    this.#bytes = bytes;
    this.#isLent = false;
  }
}

function take(spare: Buffer[], size: number): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(size);
}

function keep(spare: Buffer[], bytes: Buffer): void {
  if (spare.length < MAX_SPARE) spare.push(bytes);
}
