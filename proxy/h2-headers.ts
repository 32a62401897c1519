/**
 * Between flat header lists and HTTP/2 fields: pseudo headers, lower-case names, and the headers
 * that HTTP/2 forbids (RFC 9113 8.2).
 */
import type { OutgoingHttpHeaders } from "node:http2";
import { isHeaderName } from "../common/header-names.ts";
import { sendableHeaders } from "./latin1.ts";
import { getHeader, headerTokens, isHopByHop } from "./headers.ts";
import type { UpstreamRequest } from "./sides.ts";

const COOKIE = "cookie";

/** A request as it came in HTTP/2 fields. */
export interface H2RequestFields {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  /** Regular fields; `host` first, made from the authority, and one `cookie`. */
  readonly headers: readonly string[];
}

/** Undefined when the request has no path (CONNECT) or names two hosts. */
export function readRequestFields(fields: readonly string[]): H2RequestFields | undefined {
  const method = getHeader(fields, ":method") ?? "";
  const path = getHeader(fields, ":path");
  const authority = requestAuthority(fields);
  if (path === undefined || authority === undefined) return undefined;
  return { method, path, authority, headers: requestHeaders(fields, authority) };
}

/** Undefined when `:authority` and `host` contradict each other. */
function requestAuthority(fields: readonly string[]): string | undefined {
  const host = getHeader(fields, "host");
  const authority = getHeader(fields, ":authority");
  if (host === undefined || authority === undefined) return authority ?? host ?? "";
  return isHeaderName(host, authority.toLowerCase()) ? authority : undefined;
}

function requestHeaders(fields: readonly string[], authority: string): readonly string[] {
  const headers = ["host", authority];
  const cookies: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = String(fields[i]);
    if (name.startsWith(":") || name === "host") continue;
    // Crumbs of one cookie header; HTTP/1.1 knows one line only (RFC 9113 8.2.3).
    if (name === COOKIE) cookies.push(String(fields[i + 1]));
    else headers.push(name, String(fields[i + 1]));
  }
  if (cookies.length > 0) headers.push(COOKIE, cookies.join("; "));
  return headers;
}

/** Regular fields of an answer or of trailers. */
export function regularFields(fields: readonly string[]): readonly string[] {
  const headers: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = String(fields[i]);
    if (!name.startsWith(":")) headers.push(name, String(fields[i + 1]));
  }
  return headers;
}

/** The fields of a request to an h2c upstream. */
export function requestFields(request: UpstreamRequest): string[] {
  const { headers, hopHeaders, framing } = request;
  const fields = [
    ":method",
    request.method,
    ":scheme",
    "http",
    ":authority",
    getHeader(headers, "host") ?? "",
    ":path",
    request.target,
  ];
  const isTold = framing.kind === "length";
  pushFields(fields, headers, isTold ? ["host"] : ["host", "content-length"]);
  if (headerTokens(hopHeaders, "te").includes("trailers")) fields.push("te", "trailers");
  if (getHeader(hopHeaders, "expect") !== undefined) fields.push("expect", "100-continue");
  return fields;
}

/** The fields of an answer to an h2c client. */
export function answerFields(status: number, headers: readonly string[]): string[] {
  const fields = [":status", String(status)];
  pushFields(fields, headers, []);
  return fields;
}

/** Fields as an object, for the calls that take no list. */
export function fieldObject(headers: readonly string[]): OutgoingHttpHeaders {
  const object: Record<string, string | string[]> = {};
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = String(headers[i]).toLowerCase();
    const value = String(headers[i + 1]);
    const known = object[name];
    if (known === undefined) object[name] = value;
    else if (typeof known === "string") object[name] = [known, value];
    else known.push(value);
  }
  return object;
}

function pushFields(
  fields: string[],
  headers: readonly string[],
  without: readonly string[],
): void {
  const sendable = sendableHeaders(headers);
  for (let i = 0; i + 1 < sendable.length; i += 2) {
    const name = String(sendable[i]).toLowerCase();
    if (without.includes(name) || isHopByHop(name)) continue;
    fields.push(name, String(sendable[i + 1]));
  }
}
