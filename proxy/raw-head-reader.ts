/**
 * Strict reader of the head of an HTTP/1.x request (RFC 9112 3 and 5): request line and header
 * lines, fed with whatever arrived. What two parsers could read differently is refused. Knows
 * nothing of sockets, so that fuzzer and differential tests can drive it alone.
 */
import {
  byteTable,
  findEndOfHead,
  HeadBlock,
  MalformedMessage,
  readHeaderLines,
  skip,
  TOKEN_BYTES,
} from "./head-lines.ts";
import { HeldBytes } from "./held-bytes.ts";
import { http } from "./http-lazy.ts";
import type { ParsedHead } from "./request-head.ts";

/** The head is longer than the limit. */
export class HeadTooLarge extends Error {}

const CR = 13;
const LF = 10;
const SPACE = 32;
const DIGIT_0 = 48;
const DIGIT_1 = 49;
/** Empty lines before a request are ignored (RFC 9112 2.2), within reason. */
const MAX_EMPTY_BYTES = 64;
const END_OF_HEAD = Buffer.from("\r\n\r\n");
const VERSION_START = "HTTP/1.";

/** Visible ASCII; other bytes must be percent-encoded in a target (RFC 3986 2). */
const TARGET_BYTES = byteTable((byte) => byte > SPACE && byte < 127);
/** CONNECT asks for a tunnel to anywhere, which is not ours to give. */
let knownMethods: ReadonlySet<string> | undefined;

function isKnownMethod(method: string): boolean {
  // The usual ones need no list, and no module to take it from.
  if (method === "GET" || method === "POST") return true;
  knownMethods ??= new Set(http().METHODS.filter((name) => name !== "CONNECT"));
  return knownMethods.has(method);
}

export class RequestHeadReader {
  #maxBytes: number;
  #held = new HeldBytes();
  #emptyBytes = 0;
  #head: ParsedHead | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Part of a head is here. */
  get isPartial(): boolean {
    return this.#held.length > 0 || this.#emptyBytes > 0;
  }

  /** The head, once it is complete. */
  take(): ParsedHead | undefined {
    const head = this.#head;
    this.#head = undefined;
    return head;
  }

  /**
   * Reads on from `start`; returns where it stopped, which is the end of the head when `take` has
   * one. Throws `MalformedMessage` and `HeadTooLarge`.
   */
  read(bytes: Buffer, start: number): number {
    const at = this.#held.length === 0 ? this.#skipEmptyLines(bytes, start) : start;
    if (at === bytes.length) return at;
    return this.#held.length === 0 ? this.#readFresh(bytes, at) : this.#readOn(bytes, at);
  }

  #skipEmptyLines(bytes: Buffer, start: number): number {
    let at = start;
    while (bytes[at] === CR || bytes[at] === LF) at += 1;
    this.#emptyBytes += at - start;
    if (this.#emptyBytes > MAX_EMPTY_BYTES) throw new MalformedMessage("nothing but empty lines");
    return at;
  }

  /** The usual case: the head is whole in what arrived and nothing is copied. */
  #readFresh(bytes: Buffer, at: number): number {
    const end = findEndOfHead(bytes, at);
    this.#checkSize((end === -1 ? bytes.length : end) - at);
    if (end !== -1) {
      this.#head = parseHead(bytes, at, end + 2);
      this.#emptyBytes = 0;
      return end + END_OF_HEAD.length;
    }
    refuseBareLineFeed(bytes, at);
    this.#held.append(bytes.subarray(at));
    return bytes.length;
  }

  #readOn(bytes: Buffer, at: number): number {
    const held = this.#held;
    const heldBefore = held.length;
    held.append(bytes.subarray(at));
    const end = held.find(END_OF_HEAD);
    this.#checkSize(end === -1 ? held.length : end);
    if (end === -1) {
      refuseBareLineFeed(held.bytes, heldBefore);
      return bytes.length;
    }
    this.#head = parseHead(held.bytes, 0, end + 2);
    this.#emptyBytes = 0;
    held.clear();
    return at + end + END_OF_HEAD.length - heldBefore;
  }

  #checkSize(length: number): void {
    if (length > this.#maxBytes) throw new HeadTooLarge("the head is too large");
  }
}

/** A head that will never be valid is refused now, not when its client runs out of time. */
function refuseBareLineFeed(bytes: Buffer, from: number): void {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) throw new MalformedMessage("a line of the head ends without CR");
  }
}

/** `end` stands after the CRLF of the last line. */
function parseHead(bytes: Buffer, start: number, end: number): ParsedHead {
  const block = new HeadBlock(bytes, start, end);
  const methodEnd = skip(bytes, start, TOKEN_BYTES);
  const method = block.text(start, methodEnd);
  const targetEnd = skip(bytes, methodEnd + 1, TARGET_BYTES);
  const isSpaced = bytes[methodEnd] === SPACE && bytes[targetEnd] === SPACE;
  if (!isSpaced || targetEnd === methodEnd + 1 || !isKnownMethod(method)) {
    throw new MalformedMessage("the request line has no known method and target");
  }
  const lineEnd = targetEnd + 1 + VERSION_START.length + 1;
  return {
    method,
    url: block.text(methodEnd + 1, targetEnd),
    httpVersion: readVersion(block, targetEnd + 1),
    rawHeaders: readHeaderLines(block, lineEnd + 2),
  };
}

function readVersion(block: HeadBlock, start: number): "1.0" | "1.1" {
  const { bytes } = block;
  const digitAt = start + VERSION_START.length;
  const isOurs = block.text(start, digitAt) === VERSION_START;
  const digit = bytes[digitAt];
  const isLineOver = bytes[digitAt + 1] === CR && bytes[digitAt + 2] === LF;
  if (!isOurs || !isLineOver || (digit !== DIGIT_0 && digit !== DIGIT_1)) {
    throw new MalformedMessage("the request line does not end with HTTP/1.0 or HTTP/1.1");
  }
  return digit === DIGIT_1 ? "1.1" : "1.0";
}
