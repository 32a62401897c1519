/**
 * Strict parser of HTTP/1.x responses (RFC 9112): what is not unambiguous is refused, because the
 * next answer on the connection would be read from the wrong place. Knows nothing of sockets.
 */
import { isHeaderName } from "../common/header-names.ts";
import { ChunkedReader } from "./chunked-reader.ts";
import { type FramingMarks, markFraming } from "./framing-marks.ts";
import { findEndOfHead, HeadBlock, MalformedMessage, readHeaderLines } from "./head-lines.ts";
import { HeldBytes } from "./held-bytes.ts";
import { headerTokens } from "./headers.ts";
import { type BodyFraming, CHUNKED, NO_BODY, UNTIL_CLOSE } from "./sides.ts";
import { readStatusLine } from "./status-line.ts";
import type { ResponseHead } from "./types.ts";

/** Largest response head; stock's client allows more, no real answer comes near. */
const MAX_HEAD_BYTES = 1_048_576;
const DECIMAL = /^[0-9]{1,15}$/;
const SWITCHING_PROTOCOLS = 101;
const END_OF_HEAD = Buffer.from("\r\n\r\n");
const NO_TRAILERS: readonly string[] = [];

export interface ResponseEvents {
  onInformation(head: ResponseHead): void;
  onHead(head: ResponseHead, framing: BodyFraming): void;
  onBody(bytes: Buffer): void;
  onComplete(trailers: readonly string[]): void;
}

type State = "head" | "length" | "chunked" | "until-close" | "complete";

export class ResponseParser {
  #state: State = "complete";
  #held = new HeldBytes();
  #left = 0;
  #chunked: ChunkedReader | undefined;
  #method = "GET";
  #keepAlive = false;
  #idleHintMs = -1;
  #sawByte = false;
  readonly #events: ResponseEvents;

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  /** Makes ready for the answer to a request of this method. */
  expect(method: string): void {
    this.#state = "head";
    this.#method = method;
    this.#sawByte = false;
    this.#keepAlive = false;
    this.#idleHintMs = -1;
  }

  /** A byte of the final answer arrived; interim answers do not count. */
  get sawByte(): boolean {
    return this.#sawByte;
  }

  /** The answer is complete and the peer keeps the connection. */
  get isReusable(): boolean {
    return this.#state === "complete" && this.#keepAlive;
  }

  /** `Keep-Alive: timeout=` of the last answer in ms, -1 when it named none. */
  get idleHintMs(): number {
    return this.#idleHintMs;
  }

  /**
   * Reads what arrived; throws `MalformedMessage`. Returns the bytes that do not belong to the
   * answer: those after a 101 or after its end.
   */
  read(bytes: Buffer): number {
    if (this.#state !== "complete" && bytes.length > 0) this.#sawByte = true;
    let at = 0;
    while (at < bytes.length && this.#state !== "complete") at = this.#step(bytes, at);
    return at;
  }

  /** The peer closed its side. Returns false when the answer was cut by it. */
  end(): boolean {
    if (this.#state === "until-close") {
      this.#keepAlive = false;
      this.#complete(NO_TRAILERS);
    }
    return this.#state === "complete";
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes, at);
      case "length":
        return this.#readLength(bytes, at);
      case "chunked":
        return this.#readChunked(bytes, at);
      case "until-close":
        this.#events.onBody(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
      case "complete":
        return at;
    }
  }

  #readLength(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#events.onBody(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (this.#left === 0) this.#complete(NO_TRAILERS);
    return end;
  }

  #readChunked(bytes: Buffer, at: number): number {
    const reader = this.#chunked ?? this.#startChunked();
    const end = reader.read(bytes, at);
    if (reader.isDone) {
      this.#chunked = undefined;
      this.#complete(reader.trailers);
    }
    return end;
  }

  #startChunked(): ChunkedReader {
    const reader = new ChunkedReader({ onChunkedData: (bytes) => this.#events.onBody(bytes) });
    this.#chunked = reader;
    return reader;
  }

  #complete(trailers: readonly string[]): void {
    this.#state = "complete";
    this.#events.onComplete(trailers);
  }

  #readHead(bytes: Buffer, at: number): number {
    const held = this.#held;
    const heldBefore = held.length;
    if (heldBefore > 0) held.append(bytes.subarray(at));
    const block = heldBefore > 0 ? held.bytes : bytes;
    const start = heldBefore > 0 ? 0 : at;
    const end = heldBefore > 0 ? held.find(END_OF_HEAD) : findEndOfHead(bytes, at);
    if ((end === -1 ? block.length : end) - start > MAX_HEAD_BYTES) {
      throw new MalformedMessage("the response head is too large");
    }
    if (end === -1) {
      if (heldBefore === 0) held.append(bytes.subarray(at));
      return bytes.length;
    }
    held.clear();
    this.#acceptHead(block, start, end + 2);
    return at + (end + END_OF_HEAD.length - start) - heldBefore;
  }

  #acceptHead(block: Buffer, start: number, end: number): void {
    const lines = new HeadBlock(block, start, end);
    const line = readStatusLine(lines);
    const { status, statusText, isVersion11 } = line;
    const head: ResponseHead = { status, statusText, headers: readHeaderLines(lines, line.end) };
    if (head.status < 200 && head.status !== SWITCHING_PROTOCOLS) {
      this.#sawByte = false;
      this.#events.onInformation(head);
      return;
    }
    this.#startBody(head, isVersion11);
  }

  #startBody(head: ResponseHead, isVersion11: boolean): void {
    const marks = collectMarks(head.headers);
    const framing = responseFraming(head, marks, { method: this.#method, isVersion11 });
    this.#keepAlive = framing.kind !== "until-close" && keepsAlive(head, marks, isVersion11);
    this.#idleHintMs = keepAliveTimeoutMs(marks.keepAlive);
    this.#left = framing.kind === "length" ? framing.length : 0;
    const isEmpty = framing.kind === "none" || (framing.kind === "length" && this.#left === 0);
    this.#state = framing.kind === "none" ? "head" : framing.kind;
    this.#events.onHead(head, framing);
    // A switched connection has no end of answer: what follows is another protocol.
    if (head.status === SWITCHING_PROTOCOLS) this.#state = "complete";
    else if (isEmpty) this.#complete(NO_TRAILERS);
  }
}

/** The headers that decide about the message, collected in one pass; empty for none. */
interface Marks extends FramingMarks {
  hasConnection: boolean;
  keepAlive: string;
}

/** The length of a name tells most headers apart without looking at their letters. */
function collectMarks(headers: readonly string[]): Marks {
  const marks: Marks = {
    length: "",
    lengths: 0,
    coding: "",
    codings: 0,
    hasConnection: false,
    keepAlive: "",
  };
  for (let i = 0; i < headers.length; i += 2) mark(marks, headers[i] ?? "", headers[i + 1] ?? "");
  return marks;
}

function mark(marks: Marks, name: string, value: string): void {
  switch (name.length) {
    case 10:
      return markConnection(marks, name, value);
    case 14:
    case 17:
      return markFraming(marks, name, value);
  }
}

function markConnection(marks: Marks, name: string, value: string): void {
  if (isHeaderName(name, "connection")) marks.hasConnection = true;
  else if (marks.keepAlive === "" && isHeaderName(name, "keep-alive")) marks.keepAlive = value;
}

interface Asked {
  readonly method: string;
  readonly isVersion11: boolean;
}

function responseFraming(head: ResponseHead, marks: Marks, asked: Asked): BodyFraming {
  const { length, lengths, codings } = marks;
  if (lengths > 1 || (lengths === 1 && !DECIMAL.test(length))) {
    throw new MalformedMessage("Content-Length is not one number");
  }
  if (codings > 0) refuseOddCoding(marks, asked.isVersion11);
  if (asked.method === "HEAD" || isBodiless(head.status)) return NO_BODY;
  if (codings > 0) return CHUNKED;
  return lengths === 0 ? UNTIL_CLOSE : { kind: "length", length: Number(length) };
}

function refuseOddCoding({ coding, codings, lengths }: Marks, isVersion11: boolean): void {
  if (codings > 1 || coding.toLowerCase() !== "chunked") {
    const named = codings > 1 ? "in several lines" : coding;
    throw new MalformedMessage(`Transfer-Encoding ${named} is not supported`);
  }
  if (lengths > 0 || !isVersion11) {
    throw new MalformedMessage("the length of the body is told in two ways");
  }
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

function keepsAlive(head: ResponseHead, marks: Marks, isVersion11: boolean): boolean {
  if (!marks.hasConnection) return isVersion11;
  const tokens = headerTokens(head.headers, "connection");
  if (tokens.includes("close")) return false;
  return isVersion11 || tokens.includes("keep-alive");
}

/** -1 where the value names none. */
function keepAliveTimeoutMs(value: string): number {
  if (value === "") return -1;
  const seconds = /(?:^|[,; ])timeout\s*=\s*"?([0-9]{1,6})/i.exec(value)?.[1];
  return seconds === undefined ? -1 : Number(seconds) * 1_000;
}
