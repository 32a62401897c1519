/**
 * Strict reader of the chunked coding (RFC 9112 7.1): sizes, extensions (skipped), data, trailers.
 * Fed with whatever arrived, which it may rearrange; keeps only a partial line between calls.
 */
import { HeadBlock, MalformedMessage, readHeaderLines } from "./head-lines.ts";
import { HeldBytes } from "./held-bytes.ts";

/** Longest line of size and extensions, and longest trailer block. Both far above real use. */
const MAX_SIZE_LINE_BYTES = 4_096;
const MAX_TRAILER_BYTES = 65_536;
/** Data up to this size is moved to join what stands before it; a token of a stream is far below. */
const MAX_MOVED_BYTES = 1_024;
/** Hex digits of the largest size that a double holds exactly. */
const MAX_SIZE_DIGITS = 13;
/** Servers are known to pad sizes with blanks, and nothing follows from it. */
const SIZE_LINE = /^([0-9a-fA-F]+)[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
/** From clients only what every parser reads alike: extensions by the grammar, without blanks. */
const STRICT_SIZE_LINE =
  /^([0-9a-fA-F]+)(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*$/;
const CR = 13;
const LF = 10;
const CRLF = Buffer.from("\r\n");
const END_OF_BLOCK = Buffer.from("\r\n\r\n");

export interface ChunkedEvents {
  onChunkedData(bytes: Buffer): void;
}

type State = "size" | "data" | "data-end" | "trailers" | "done";

export class ChunkedReader {
  #state: State = "size";
  #left = 0;
  #held = new HeldBytes();
  #trailers: readonly string[] = [];
  /** Data of this read that was not given yet; 0 as its end for none. */
  #runStart = 0;
  #runEnd = 0;
  readonly #events: ChunkedEvents;
  readonly #sizeLine: RegExp;

  constructor(events: ChunkedEvents, peer: "server" | "client" = "server") {
    this.#events = events;
    this.#sizeLine = peer === "client" ? STRICT_SIZE_LINE : SIZE_LINE;
  }

  get isDone(): boolean {
    return this.#state === "done";
  }

  get trailers(): readonly string[] {
    return this.#trailers;
  }

  /** Reads on from `start`; returns where it stopped, before `bytes.length` only when done. */
  read(bytes: Buffer, start: number): number {
    let at = start;
    try {
      while (at < bytes.length && this.#state !== "done") at = this.#step(bytes, at);
    } finally {
      this.#giveRun(bytes);
    }
    return at;
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case "size":
        return this.#readSize(bytes, at);
      case "data":
        return this.#readData(bytes, at);
      case "data-end":
        return this.#readDataEnd(bytes, at);
      case "trailers":
        return this.#readTrailers(bytes, at);
      case "done":
        return at;
    }
  }

  /** A size and nothing else on its line, whole in what arrived: the usual case, read in place. */
  #readSize(bytes: Buffer, at: number): number {
    if (this.#held.length > 0) return this.#readSizeLine(bytes, at);
    let left = 0;
    let end = at;
    for (let digit = hexDigit(bytes[end]); digit >= 0; digit = hexDigit(bytes[end])) {
      left = left * 16 + digit;
      end += 1;
    }
    const isPlain = bytes[end] === CR && bytes[end + 1] === LF && end > at;
    if (!isPlain || left === 0 || end - at > MAX_SIZE_DIGITS) return this.#readSizeLine(bytes, at);
    this.#left = left;
    this.#state = "data";
    return end + 2;
  }

  #readSizeLine(bytes: Buffer, at: number): number {
    return this.#readBlock(bytes, at, { mark: CRLF, limit: MAX_SIZE_LINE_BYTES }, (block, end) => {
      const digits = this.#sizeLine.exec(block.toString("latin1", 0, end))?.[1];
      if (digits === undefined || digits.length > MAX_SIZE_DIGITS) {
        throw new MalformedMessage("a chunk has no valid size");
      }
      this.#left = Number.parseInt(digits, 16);
      this.#state = this.#left === 0 ? "trailers" : "data";
      // The trailer block is read from the CRLF of the last size line on, so that an empty one
      // ends with the same mark as a full one.
      if (this.#left === 0) this.#held.append(CRLF);
      return end + 2;
    });
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = "data-end";
    const isSmall = end - at <= MAX_MOVED_BYTES;
    if (!isSmall) this.#giveRun(bytes);
    if (this.#runEnd === 0) this.#runStart = at;
    else bytes.copyWithin(this.#runEnd, at, end);
    this.#runEnd = (this.#runEnd === 0 ? at : this.#runEnd) + end - at;
    if (!isSmall) this.#giveRun(bytes);
    return end;
  }

  /** Small pieces are moved together within what arrived, over the framing between them. */
  #giveRun(bytes: Buffer): void {
    const [start, end] = [this.#runStart, this.#runEnd];
    if (end === 0) return;
    this.#runEnd = 0;
    this.#events.onChunkedData(bytes.subarray(start, end));
  }

  #readDataEnd(bytes: Buffer, at: number): number {
    if (this.#held.length === 0 && bytes[at] === CR && bytes[at + 1] === LF) {
      this.#state = "size";
      return at + 2;
    }
    return this.#readBlock(bytes, at, { mark: CRLF, limit: 2 }, (_, end) => {
      if (end !== 0) throw new MalformedMessage("a chunk is longer than its size");
      this.#state = "size";
      return 2;
    });
  }

  #readTrailers(bytes: Buffer, at: number): number {
    const limits = { mark: END_OF_BLOCK, limit: MAX_TRAILER_BYTES };
    return this.#readBlock(bytes, at, limits, (block, end) => {
      this.#trailers = readHeaderLines(new HeadBlock(block, 2, end + 2), 2);
      this.#state = "done";
      return end + 4;
    });
  }

  /**
   * Collects up to `mark` and hands the block to `use`, which returns how much of it is used up.
   * Returns the place in `bytes` to go on from.
   */
  #readBlock(
    bytes: Buffer,
    at: number,
    search: { readonly mark: Buffer; readonly limit: number },
    use: (block: Buffer, end: number) => number,
  ): number {
    const held = this.#held;
    const heldBefore = held.length;
    const isFresh = heldBefore === 0;
    if (!isFresh) held.append(bytes.subarray(at));
    const block = isFresh ? bytes.subarray(at) : held.bytes;
    const end = isFresh ? block.indexOf(search.mark) : held.find(search.mark);
    if (end === -1 ? block.length > search.limit + 2 : end > search.limit) {
      throw new MalformedMessage("a chunk size line or trailer block is too long");
    }
    if (end === -1) {
      if (isFresh) held.append(block);
      return bytes.length;
    }
    held.clear();
    return at + use(block, end) - heldBefore;
  }
}

/** -1 for a byte that is none. */
function hexDigit(byte: number | undefined): number {
  return byte === undefined ? -1 : (HEX_VALUES[byte] ?? -1);
}

const HEX_VALUES = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase());
  return byte < 128 ? value : -1;
});
