/** Heads of answers as text, and what decides whether the client's connection goes on after them. */
import { isHeaderName } from "../common/header-names.ts";
import { isLatin1, sendableHeaders } from "./latin1.ts";

/** How the client learns where the answer ends. */
export type AnswerEnd = "length" | "chunks" | "close";

export interface AnswerHead {
  readonly status: number;
  readonly statusText: string;
  /** Flat list without framing and connection headers. */
  readonly headers: readonly string[];
  readonly end: AnswerEnd;
  /** `Connection` and `Keep-Alive` lines of this hop. */
  readonly connectionLines: string;
}

export const CLOSE_LINE = "Connection: close\r\n";

/** What tells a client how long its connection is kept, so that it does not use a dying one. */
export function keepAliveLines(keepAliveMs: number): string {
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n`;
}

export function answerHeadText(head: AnswerHead): string {
  const text = joinLines(head, head.headers);
  return isLatin1(text) ? text : joinLines(head, sendableHeaders(head.headers));
}

/** An interim answer (RFC 9110 15.2). */
export function informationText(
  status: number,
  statusText: string,
  headers: readonly string[],
): string {
  let text = `HTTP/1.1 ${status} ${statusText}\r\n`;
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${text}\r\n`;
}

/** Trailers and the end of a chunked body. */
export function lastChunkText(trailers: readonly string[]): string {
  let text = "0\r\n";
  for (let i = 0; i < trailers.length; i += 2) text += `${trailers[i]}: ${trailers[i + 1]}\r\n`;
  return `${text}\r\n`;
}

function joinLines(head: AnswerHead, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${head.status} ${head.statusText}\r\n`;
  let hasDate = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    hasDate ||= isHeaderName(name, "date");
    text += `${name}: ${headers[i + 1]}\r\n`;
  }
  if (!hasDate) text += dateLine();
  text += head.connectionLines;
  if (head.end === "chunks") text += "Transfer-Encoding: chunked\r\n";
  return `${text}\r\n`;
}

/** The date has seconds; making its text anew for each answer would cost more than the head. */
const DATE_STALE_MS = 250;
let dateText = "";
let dateAt = Number.NEGATIVE_INFINITY;

function dateLine(): string {
  const now = performance.now();
  if (now - dateAt > DATE_STALE_MS) {
    dateText = `Date: ${new Date().toUTCString()}\r\n`;
    dateAt = now;
  }
  return dateText;
}
