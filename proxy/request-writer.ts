/**
 * Bytes of a request to an HTTP/1.1 upstream: the handler's header list in its order and spelling,
 * exactly one framing header, and the hop-by-hop headers that this hop needs.
 */
import { isHeaderName } from "../common/header-names.ts";
import { isLatin1, sendableHeaders } from "./latin1.ts";
import { getHeader, headerTokens, isHopByHop } from "./headers.ts";
import type { BodyFraming, UpstreamRequest } from "./sides.ts";
import type { RequestHead } from "./types.ts";

const EXPECT_CONTINUE = "100-continue";

/** What of the client's head the upstream hop needs beside the handler's list. */
export interface HopExtras {
  readonly framing: BodyFraming;
  /** Adds `Expect: 100-continue`. */
  readonly addExpect: boolean;
  /** Protocol of a wanted upgrade as spelled, empty for none. */
  readonly upgrade: string;
}

/** The headers that this hop adds by itself. */
export function hopHeaders(head: RequestHead, extras: HopExtras): readonly string[] {
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
  if (extras.addExpect) added.push("Expect", EXPECT_CONTINUE);
  if (tokens.length > 0) added.unshift("Connection", tokens.join(", "));
  const isChunked = extras.framing.kind === "chunked";
  const announced = isChunked ? getHeader(head.headers, "trailer") : undefined;
  if (announced !== undefined) added.push("Trailer", announced);
  return added;
}

/** The head as latin1 text. */
export function requestHeadText(request: UpstreamRequest): string {
  const text = headText(request);
  if (isLatin1(text)) return text;
  return headText({ ...request, headers: sendableHeaders(request.headers) });
}

function headText(request: UpstreamRequest): string {
  const { framing, headers, hopHeaders: hop } = request;
  let text = `${request.method} ${originForm(request.target)} HTTP/1.1\r\n`;
  let takesLength = framing.kind === "length";
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? "";
    if (isHopByHop(name)) continue;
    if (isHeaderName(name, "content-length")) {
      if (!takesLength) continue;
      takesLength = false;
    }
    text += `${name}: ${headers[i + 1]}\r\n`;
  }
  for (let i = 0; i + 1 < hop.length; i += 2) text += `${hop[i]}: ${hop[i + 1]}\r\n`;
  if (framing.kind === "chunked") text += "Transfer-Encoding: chunked\r\n";
  if (framing.kind === "length" && takesLength) text += `Content-Length: ${framing.length}\r\n`;
  return `${text}\r\n`;
}

/** An origin server is asked in origin-form, also when the client used absolute-form (RFC 9112 3.2.1). */
export function originForm(target: string): string {
  if (target.startsWith("/") || target === "*") return target;
  const authority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)?.[0];
  if (authority === undefined) return target;
  const rest = target.slice(authority.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}
