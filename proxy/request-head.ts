/**
 * Reads the head of a client's request as a parser (Node's or ours) hands it out, and refuses what
 * two parsers could understand differently: framing, Host and target. The parser has already
 * refused what is malformed byte by byte.
 */
import { isHeaderName } from "../common/header-names.ts";
import { type FramingMarks, markFraming } from "./framing-marks.ts";
import { type BodyFraming, CHUNKED, NO_BODY } from "./sides.ts";
import type { RequestHead } from "./types.ts";

const DECIMAL = /^[0-9]{1,15}$/;
const HOST = /^[A-Za-z0-9\-._~%!$&'()*+,;=:[\]]*$/;
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

/** What a parser read; the fields of Node's `IncomingMessage`. */
export interface ParsedHead {
  readonly httpVersion: string;
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
}

export interface ReadRequest {
  readonly head: RequestHead;
  readonly framing: BodyFraming;
  /** Protocol of a wanted upgrade as the client spelled it. */
  readonly upgradeSpelling: string;
}

/** The headers that decide about the message, collected in one pass. */
interface Marks extends FramingMarks {
  host: string;
  hosts: number;
  upgrade: string;
  expect: string;
}

/** Who sent the request, and whether Node handed the connection over because of it. */
export interface RequestOrigin {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly isEncrypted: boolean;
  readonly isUpgrade: boolean;
}

/** Undefined when the request is ambiguous. */
export function readRequestHead(
  request: ParsedHead,
  origin: RequestOrigin,
): ReadRequest | undefined {
  const { httpVersion, rawHeaders, method = "", url: target = "" } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return undefined;
  const marks = collectMarks(rawHeaders);
  const framing = requestFraming(marks, httpVersion);
  const host = isHostValid(marks, httpVersion) ? effectiveHost(marks.host, request) : undefined;
  if (framing === undefined || host === undefined) return undefined;
  const upgradeSpelling = origin.isUpgrade ? marks.upgrade : "";
  const head: RequestHead = {
    method,
    target,
    httpVersion,
    headers: rawHeaders,
    host,
    remoteAddress: origin.remoteAddress,
    remotePort: origin.remotePort,
    isEncrypted: origin.isEncrypted,
    upgrade: upgradeSpelling.toLowerCase(),
    expectsContinue: httpVersion === "1.1" && isHeaderName(marks.expect, "100-continue"),
    contentLength: declaredLength(framing),
  };
  return { head, framing, upgradeSpelling };
}

/** Whether the text may stand for a host and port; empty is allowed. */
export function isHostText(text: string): boolean {
  return HOST.test(text);
}

/** Whether this head announces a body, for the decision to hand the connection over. */
export function announcesBody(rawHeaders: readonly string[]): boolean {
  const { codings, lengths, length } = collectMarks(rawHeaders);
  return codings > 0 || (lengths > 0 && Number(length) !== 0);
}

function collectMarks(headers: readonly string[]): Marks {
  const marks: Marks = {
    host: "",
    hosts: 0,
    length: "",
    lengths: 0,
    coding: "",
    codings: 0,
    upgrade: "",
    expect: "",
  };
  for (let i = 0; i < headers.length; i += 2) mark(marks, headers[i] ?? "", headers[i + 1] ?? "");
  return marks;
}

/** The length of a name tells most headers apart without looking at their letters. */
function mark(marks: Marks, name: string, value: string): void {
  switch (name.length) {
    case 4:
      return markHost(marks, name, value);
    case 6:
      if (isHeaderName(name, "expect")) marks.expect = value;
      return;
    case 7:
      if (isHeaderName(name, "upgrade")) marks.upgrade = value;
      return;
    case 14:
    case 17:
      return markFraming(marks, name, value);
  }
}

function markHost(marks: Marks, name: string, value: string): void {
  if (!isHeaderName(name, "host")) return;
  marks.host = value;
  marks.hosts += 1;
}

function requestFraming(marks: Marks, httpVersion: string): BodyFraming | undefined {
  const { lengths, length, codings, coding } = marks;
  if (lengths === 0 && codings === 0) return NO_BODY;
  if (codings > 0) {
    const isPlain = codings === 1 && coding.toLowerCase() === "chunked";
    return isPlain && lengths === 0 && httpVersion === "1.1" ? CHUNKED : undefined;
  }
  if (lengths > 1 || !DECIMAL.test(length)) return undefined;
  return { kind: "length", length: Number(length) };
}

/** As the handler sees it: -1 unknown, 0 none. */
export function declaredLength(framing: BodyFraming): number {
  if (framing.kind === "length") return framing.length;
  return framing.kind === "chunked" ? -1 : 0;
}

function isHostValid({ host, hosts }: Marks, httpVersion: string): boolean {
  const isCountRight = hosts === 1 || (hosts === 0 && httpVersion === "1.0");
  return isCountRight && HOST.test(host);
}

/** Host of the request; undefined when the target is malformed or contradicts it. */
function effectiveHost(host: string, request: ParsedHead): string | undefined {
  const { url: target = "", method } = request;
  if (target.startsWith("/")) return host;
  if (target === "*") return method === "OPTIONS" ? host : undefined;
  const authority = ABSOLUTE_FORM.exec(target)?.[1];
  if (authority === undefined || !HOST.test(authority)) return undefined;
  return host === "" || isHeaderName(authority, host.toLowerCase()) ? authority : undefined;
}
