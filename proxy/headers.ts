/**
 * Flat header lists `[name, value, name, value, ...]`: look up, leave out, append. Order and
 * spelling of the wire are kept, names compare without regard to case. No list is changed in
 * place. Apart because both processes edit headers and neither may rebuild objects per request.
 */
import { HOP_BY_HOP_HEADERS } from "../common/contracts/headers.ts";
import { headerNames, isHeaderName } from "../common/header-names.ts";

const NOTHING: readonly string[] = [];

const HOP_BY_HOP = headerNames(HOP_BY_HOP_HEADERS);

/** Whether the header is hop-by-hop by its name alone (`Connection` may list others). */
export function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name);
}

/** First value of the header, undefined when it is not there. */
export function getHeader(headers: readonly string[], lowerName: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    if (isHeaderName(headers[i] ?? "", lowerName)) return headers[i + 1];
  }
  return undefined;
}

/** All values of the header, in order. */
export function getHeaderValues(headers: readonly string[], lowerName: string): readonly string[] {
  let values: string[] | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    if (!isHeaderName(headers[i] ?? "", lowerName)) continue;
    values ??= [];
    values.push(headers[i + 1] ?? "");
  }
  return values ?? NOTHING;
}

export function hasHeader(headers: readonly string[], lowerName: string): boolean {
  return getHeader(headers, lowerName) !== undefined;
}

/** The list without all headers of these lower-case names. */
export function withoutHeaders(
  headers: readonly string[],
  lowerNames: ReadonlySet<string>,
): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    if (!lowerNames.has(name.toLowerCase())) kept.push(name, headers[i + 1] ?? "");
  }
  return kept;
}

/** The list with one header set: at the place of its first appearance, else at the end. */
export function withHeader(headers: readonly string[], name: string, value: string): string[] {
  const lower = name.toLowerCase();
  const result: string[] = [];
  let placed = false;
  for (let i = 0; i < headers.length; i += 2) {
    const known = headers[i] ?? "";
    if (!isHeaderName(known, lower)) {
      result.push(known, headers[i + 1] ?? "");
      continue;
    }
    if (!placed) result.push(known, value);
    placed = true;
  }
  if (!placed) result.push(name, value);
  return result;
}

/**
 * The list with `value` appended to a comma-separated header. Several lines of the header become
 * one, at the place of the first, as RFC 9110 5.3 allows.
 */
export function appendHeader(headers: readonly string[], name: string, value: string): string[] {
  const values = getHeaderValues(headers, name.toLowerCase());
  const joined = values.length === 0 ? value : `${values.join(", ")}, ${value}`;
  return withHeader(headers, name, joined);
}

/** Adds the address of the peer to `X-Forwarded-For`. */
export function appendForwardedFor(headers: readonly string[], address: string): string[] {
  return appendHeader(headers, "X-Forwarded-For", address);
}

/** The list without hop-by-hop headers, those named by `Connection` included (RFC 9110 7.6.1). */
export function withoutHopByHop(headers: readonly string[]): string[] {
  const named = connectionTokens(headers);
  const namesMore = namesHeaders(named);
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    if (isHopByHop(name)) continue;
    if (namesMore && named.includes(name.toLowerCase())) continue;
    kept.push(name, headers[i + 1] ?? "");
  }
  return kept;
}

/** `keep-alive` and `close` speak of the connection; the header `Keep-Alive` goes anyway. */
function namesHeaders(tokens: readonly string[]): boolean {
  return tokens.some((token) => token !== "close" && token !== "keep-alive");
}

/** Fields that would change framing or routing if a peer merged them into the head (RFC 9110 6.5.1). */
const NEVER_TRAILERS: ReadonlySet<string> = new Set(["content-length", "host", "content-encoding"]);

/** Trailers that may be passed on. */
export function safeTrailers(trailers: readonly string[]): readonly string[] {
  if (trailers.length === 0) return trailers;
  return withoutHeaders(withoutHopByHop(trailers), NEVER_TRAILERS);
}

/** Lower-case tokens of all `Connection` lines. */
export function connectionTokens(headers: readonly string[]): readonly string[] {
  return headerTokens(headers, "connection");
}

const KEEP_ALIVE: readonly string[] = ["keep-alive"];
const CLOSE: readonly string[] = ["close"];

/** What `Connection` says as a rule, taken apart already. */
function commonTokens(value: string): readonly string[] | undefined {
  if (value === "keep-alive" || value === "Keep-Alive") return KEEP_ALIVE;
  return value === "close" ? CLOSE : undefined;
}

/** Lower-case, trimmed, non-empty elements of a comma-separated header. */
export function headerTokens(headers: readonly string[], lowerName: string): readonly string[] {
  const values = getHeaderValues(headers, lowerName);
  const [first] = values;
  if (first === undefined) return NOTHING;
  if (values.length === 1) {
    const known = commonTokens(first);
    if (known !== undefined) return known;
  }
  return values
    .join(",")
    .toLowerCase()
    .split(",")
    .map((token) => token.trim())
    .filter((token) => token !== "");
}
