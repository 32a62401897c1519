/**
 * The beginning of something whose end has not arrived: grows by doubling and is searched only
 * where it is new, so that a peer that sends byte by byte costs no more than its bytes.
 */

const FIRST_CAPACITY = 256;

export class HeldBytes {
  #buffer: Buffer | undefined;
  #length = 0;
  #searched = 0;

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  append(bytes: Buffer): void {
    const needed = this.#length + bytes.length;
    let buffer = this.#buffer;
    if (buffer === undefined || buffer.length < needed) {
      const grown = Buffer.allocUnsafe(Math.max(FIRST_CAPACITY, needed, this.#length * 2));
      buffer?.copy(grown, 0, 0, this.#length);
      buffer = grown;
      this.#buffer = grown;
    }
    bytes.copy(buffer, this.#length);
    this.#length = needed;
  }

  /** Where `mark` stands, -1 while it does not; always called with the same mark until `clear`. */
  find(mark: Buffer): number {
    const from = Math.max(0, this.#searched - mark.length + 1);
    this.#searched = this.#length;
    return this.bytes.indexOf(mark, from);
  }

  clear(): void {
    this.#buffer = undefined;
    this.#length = 0;
    this.#searched = 0;
  }
}
