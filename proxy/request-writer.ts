/**
 * Bytes of a request to an HTTP/1.1 upstream: the handler's header list in its order and spelling,
 * exactly one framing header, and the hop-by-hop headers that this hop needs.
 */
import { isHeaderName } from "./headers.ts";
import type { BodyFraming, UpstreamRequest } from "./sides.ts";
import type { RequestHead } from "./types.ts";
import { HOP_BY_HOP_HEADERS } from "../common/contracts/headers.ts";
import { getHeader, headerTokens } from "./headers.ts";

const EXPECT_CONTINUE = "100-continue";

/** What of the client's head the upstream hop needs beside the handler's list. */
export interface HopExtras {
  /** Adds `Expect: 100-continue` when the list has none. */
  readonly addExpect: boolean;
  /** Protocol of a wanted upgrade as spelled, empty for none. */
  readonly upgrade: string;
}

/** The complete header list for upstream but for the body's framing header. */
export function upstreamHeaders(
  headers: readonly string[],
  head: RequestHead,
  extras: HopExtras,
): readonly string[] {
  const tokens: string[] = [];
  const added: string[] = [];
  if (extras.upgrade !== "") {
    tokens.push("Upgrade");
    added.push("Upgrade", extras.upgrade);
  }
  if (headerTokens(head.headers, "te").some((token) => token.startsWith("trailers"))) {
    tokens.push("TE");
    added.push("TE", "trailers");
  }
  if (extras.addExpect && getHeader(headers, "expect") === undefined) {
    added.push("Expect", EXPECT_CONTINUE);
  }
  if (tokens.length > 0) added.unshift("Connection", tokens.join(", "));
  const announced = getHeader(head.headers, "trailer");
  if (announced !== undefined) added.push("Trailer", announced);
  return added.length === 0 ? headers : headers.concat(added);
}

/** The head as latin1 text. */
export function requestHeadText(request: UpstreamRequest): string {
  const { framing } = request;
  let text = `${request.method} ${originForm(request.target)} HTTP/1.1\r\n`;
  let isFramed = false;
  const { headers } = request;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    if (isHeaderName(name, "content-length")) {
      if (framing.kind === "length" && !isFramed) text += `${name}: ${framing.length}\r\n`;
      isFramed = true;
    } else if (!isHeaderName(name, "transfer-encoding")) {
      text += `${name}: ${headers[i + 1] ?? ""}\r\n`;
    }
  }
  return `${text}${framingLine(framing, isFramed)}\r\n`;
}

/** An origin server is asked in origin-form, also when the client used absolute-form (RFC 9112 3.2.1). */
export function originForm(target: string): string {
  if (target.startsWith("/") || target === "*") return target;
  const authority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)?.[0];
  if (authority === undefined) return target;
  const rest = target.slice(authority.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** Whether the handler's list names a header that the core adds itself. */
export function isFramingOrHop(name: string): boolean {
  const lower = name.toLowerCase();
  return lower === "content-length" || HOP_BY_HOP_HEADERS.has(lower);
}

function framingLine(framing: BodyFraming, isFramed: boolean): string {
  if (framing.kind === "chunked") return "Transfer-Encoding: chunked\r\n";
  return framing.kind === "length" && !isFramed ? `Content-Length: ${framing.length}\r\n` : "";
}
