/**
 * Requests for the fuzzer: built by the grammar, then bent where parsers are known to disagree
 * (framing, line ends, blanks, sizes, odd bytes), and cut into pieces anywhere.
 */
import type { Random } from "../../common/random.ts";
import { CORPUS } from "../support/request-corpus.ts";

/** Pieces that bend a request when they stand where they do not belong. */
const SPLINTERS = [
  "\r",
  "\n",
  "\r\n",
  "\r\n\r\n",
  "\n\n",
  "\0",
  " ",
  "\t",
  ":",
  ";",
  ",",
  "0",
  "0\r\n\r\n",
  "Content-Length: 3\r\n",
  "Transfer-Encoding: chunked\r\n",
  "content-length:0\r\n",
  "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
  "\x0b",
  "\x7f",
  "\xff",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
] as const;

/** Headers that the tests of the fronts are about; others only take room. */
const HEADERS = [
  "Content-Length: 3",
  "Content-Length: 0",
  "Content-Length: 03",
  "Content-Length: 3, 3",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: Chunked",
  "Transfer-Encoding: gzip",
  "Connection: keep-alive",
  "Connection: close",
  "Connection: Transfer-Encoding",
  "TE: trailers",
  "X-A: 1",
  "X-B:",
  "X-C: \xe9 2",
  "Host: b",
  "Cookie: a=b; c=d",
] as const;

export interface FuzzedRequest {
  readonly text: string;
  readonly pieces: readonly Buffer[];
}

export function fuzzedConnection(random: Random, last: string): FuzzedRequest {
  const count = 1 + whole(random, 3);
  let text = "";
  for (let i = 0; i < count; i += 1) text += oneRequest(random);
  const bends = random() < 0.3 ? 0 : 1 + whole(random, 3);
  for (let i = 0; i < bends; i += 1) text = bend(random, text);
  text += last;
  return { text, pieces: cut(random, Buffer.from(text, "latin1")) };
}

function oneRequest(random: Random): string {
  if (random() < 0.4)
    return pick(
      random,
      CORPUS.filter(([, bytes]) => bytes.length < 1_000),
    )[1];
  const headers = Array.from({ length: whole(random, 4) }, () => pick(random, HEADERS));
  const lines = ["Host: a", ...headers].map((line) => `${line}\r\n`).join("");
  const hasChunks = /transfer-encoding/i.test(lines);
  const body = hasChunks ? chunks(random) : /length: 0?3/i.test(lines) ? "abc" : "";
  return `${pick(random, ["GET", "POST", "PUT", "HEAD"])} /${whole(random, 9)} HTTP/1.1\r\n${lines}\r\n${body}`;
}

function chunks(random: Random): string {
  let text = "";
  for (let i = whole(random, 3); i > 0; i -= 1) {
    const data = "z".repeat(1 + whole(random, 40));
    text += `${data.length.toString(16)}${random() < 0.2 ? ";a=b" : ""}\r\n${data}\r\n`;
  }
  return `${text}0\r\n${random() < 0.2 ? "X-T: 1\r\n" : ""}\r\n`;
}

function bend(random: Random, text: string): string {
  const at = whole(random, text.length);
  switch (whole(random, 5)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1 + whole(random, 3));
    case 1:
      return text.slice(0, at) + pick(random, SPLINTERS) + text.slice(at);
    case 2:
      return text.slice(0, at) + String.fromCharCode(whole(random, 256)) + text.slice(at + 1);
    case 3:
      return text.slice(0, at) + text.slice(Math.max(0, at - whole(random, 60)));
    default:
      return text.replace(/\r\n/g, (mark) => (random() < 0.1 ? pick(random, SPLINTERS) : mark));
  }
}

function cut(random: Random, bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  const most = random() < 0.3 ? bytes.length : 1 + whole(random, 60);
  for (let at = 0; at < bytes.length;) {
    const size = 1 + whole(random, most);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

export function whole(random: Random, below: number): number {
  return Math.floor(random() * below);
}

export function pick<T>(random: Random, list: readonly T[]): T {
  const chosen = list[whole(random, list.length)];
  if (chosen === undefined) throw new RangeError("Nothing to pick from");
  return chosen;
}
