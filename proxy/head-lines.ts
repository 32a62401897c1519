/**
 * Strict reader of a block of header lines (RFC 9112 5): of heads both ways, and of trailers.
 * Apart from the response parser because it is pure and has all byte tables.
 */

export class MalformedMessage extends Error {}

const CR = 13;
const LF = 10;
const COLON = 58;
const SPACE = 32;
const TAB = 9;

const TOKEN_EXTRA = "!#$%&'*+-.^_`|~";
export const TOKEN_BYTES = byteTable((byte) => {
  const isDigit = byte >= 48 && byte <= 57;
  const isLetter = (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122);
  return isDigit || isLetter || TOKEN_EXTRA.includes(String.fromCharCode(byte));
});
/** Field values: visible ASCII, space, tab, and bytes from 0x80 on, which pass unchanged. */
export const VALUE_BYTES = byteTable((byte) => byte === TAB || (byte >= SPACE && byte !== 127));

/** A block of lines as bytes and, made once because cutting text is cheaper than decoding, as text. */
export class HeadBlock {
  readonly bytes: Buffer;
  readonly start: number;
  /** Behind the CRLF of the last line. */
  readonly end: number;
  readonly #text: string;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.#text = bytes.toString("latin1", start, end);
  }

  /** By places in `bytes`. */
  text(from: number, to: number): string {
    return this.#text.slice(from - this.start, to - this.start);
  }
}

/** Reads `name: value` lines from `start` to the end of the block. */
export function readHeaderLines(block: HeadBlock, start: number): string[] {
  const headers: string[] = [];
  let at = start;
  while (at < block.end) at = readHeaderLine(block, at, headers);
  return headers;
}

function readHeaderLine(block: HeadBlock, start: number, headers: string[]): number {
  const { bytes } = block;
  const colon = skip(bytes, start, TOKEN_BYTES);
  if (colon === start || bytes[colon] !== COLON) {
    throw new MalformedMessage("a header line does not start with a name and a colon");
  }
  const lineEnd = skip(bytes, colon + 1, VALUE_BYTES);
  if (bytes[lineEnd] !== CR || bytes[lineEnd + 1] !== LF) {
    throw new MalformedMessage("a header value has a forbidden byte");
  }
  let valueStart = colon + 1;
  while (isBlank(bytes[valueStart])) valueStart += 1;
  let valueEnd = lineEnd;
  while (valueEnd > valueStart && isBlank(bytes[valueEnd - 1])) valueEnd -= 1;
  headers.push(block.text(start, colon), block.text(valueStart, valueEnd));
  return lineEnd + 2;
}

/**
 * Where the empty line begins that ends a head (CR LF CR LF), from `start` on; -1 while it is not
 * here. Looks at every fourth byte as a rule, which is quicker than asking Node for so short a text.
 */
export function findEndOfHead(bytes: Buffer, start: number): number {
  let at = start + 3;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === LF) {
      if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at - 3;
      // It may be the first LF of the two.
      at += 2;
    } else at += byte === CR ? 1 : 4;
  }
  return -1;
}

/** The first place from `start` on whose byte is not in the table. */
export function skip(bytes: Buffer, start: number, table: Uint8Array): number {
  let at = start;
  while (table[bytes[at] ?? 0] === 1) at += 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

export function byteTable(holds: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (holds(byte) ? 1 : 0));
}
