/** Reads the first line of a response (RFC 9112 4); apart because it is pure and all byte by byte. */
import { type HeadBlock, MalformedMessage, skip, VALUE_BYTES } from "./head-lines.ts";

const CR = 13;
const LF = 10;
const SPACE = 32;
const DIGIT_0 = 48;
const DIGIT_1 = 49;
const DIGIT_9 = 57;
const VERSION_START = Buffer.from("HTTP/1.");

export interface StatusLine {
  readonly isVersion11: boolean;
  /** 100 to 999. */
  readonly status: number;
  readonly statusText: string;
  /** Where the next line begins. */
  readonly end: number;
}

/** The line at the start of the block; throws `MalformedMessage`. */
export function readStatusLine(block: HeadBlock): StatusLine {
  const { bytes, start } = block;
  const minorAt = start + VERSION_START.length;
  const statusAt = minorAt + 2;
  const status = readStatus(bytes, statusAt);
  const isSpaced = bytes[minorAt + 1] === SPACE;
  if (!isVersion1(bytes, start) || !isSpaced || status === 0) throw malformed();
  const statusEnd = statusAt + 3;
  const hasReason = bytes[statusEnd] === SPACE;
  const reasonAt = hasReason ? statusEnd + 1 : statusEnd;
  const lineEnd = hasReason ? skip(bytes, reasonAt, VALUE_BYTES) : statusEnd;
  if (bytes[lineEnd] !== CR || bytes[lineEnd + 1] !== LF) throw malformed();
  return {
    isVersion11: bytes[minorAt] === DIGIT_1,
    status,
    statusText: block.text(reasonAt, lineEnd),
    end: lineEnd + 2,
  };
}

function isVersion1(bytes: Buffer, start: number): boolean {
  for (let i = 0; i < VERSION_START.length; i += 1) {
    if (bytes[start + i] !== VERSION_START[i]) return false;
  }
  const minor = bytes[start + VERSION_START.length];
  return minor === DIGIT_0 || minor === DIGIT_1;
}

/** Three digits, the first of them not 0; else 0. */
function readStatus(bytes: Buffer, at: number): number {
  let status = 0;
  for (let i = 0; i < 3; i += 1) {
    const digit = bytes[at + i] ?? 0;
    if (digit < DIGIT_0 || digit > DIGIT_9) return 0;
    status = status * 10 + digit - DIGIT_0;
  }
  return status < 100 ? 0 : status;
}

function malformed(): MalformedMessage {
  return new MalformedMessage("the status line is not valid");
}
