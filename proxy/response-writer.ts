/** The header list that a client gets: the handler's list with exactly the framing that is sent. */
import { isHeaderName } from "../common/header-names.ts";
import { sendableHeaders } from "./latin1.ts";
import { getHeader, isHopByHop } from "./headers.ts";
import type { BodyFraming } from "./sides.ts";
import type { RequestHead, ResponseHead } from "./types.ts";

const NO_CONTENT = 204;

export interface AnswerContext {
  readonly framing: BodyFraming;
  readonly request: RequestHead;
}

/** A new list; Node adds `Transfer-Encoding`, `Connection` and a missing `Date` by itself. */
export function clientHeaders(
  headers: readonly string[],
  head: ResponseHead,
  context: AnswerContext,
): string[] {
  const { framing } = context;
  const list: string[] = [];
  let takesLength = keepsLength(framing, head.status);
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? "";
    if (isHopByHop(name)) continue;
    if (isHeaderName(name, "content-length")) {
      if (!takesLength) continue;
      takesLength = false;
    }
    list.push(name, headers[i + 1] ?? "");
  }
  if (framing.kind === "length" && takesLength) {
    list.push("Content-Length", String(framing.length));
  }
  const announced = announcedTrailers(head, context);
  if (announced !== undefined) list.push("Trailer", announced);
  return list;
}

/** A length also stands on answers without a body, where it tells of the body that GET would get. */
function keepsLength(framing: BodyFraming, status: number): boolean {
  return framing.kind === "length" || (framing.kind === "none" && status !== NO_CONTENT);
}

function announcedTrailers(head: ResponseHead, context: AnswerContext): string | undefined {
  const carriesTrailers =
    context.framing.kind === "chunked" && context.request.httpVersion === "1.1";
  return carriesTrailers ? getHeader(head.headers, "trailer") : undefined;
}

/** The 101 that hands a connection over. */
export function switchHeadText(head: ResponseHead, list: readonly string[]): string {
  const headers = sendableHeaders(list);
  let text = `HTTP/1.1 ${head.status} ${head.statusText}\r\nConnection: Upgrade\r\n`;
  const upgrade = getHeader(head.headers, "upgrade");
  if (upgrade !== undefined) text += `Upgrade: ${upgrade}\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    if (isHopByHop(name) || isHeaderName(name, "content-length")) continue;
    text += `${name}: ${headers[i + 1] ?? ""}\r\n`;
  }
  return `${text}\r\n`;
}

/** Trailers as Node wants them. */
export function trailerPairs(trailers: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < trailers.length; i += 2) {
    pairs.push([trailers[i] ?? "", trailers[i + 1] ?? ""]);
  }
  return pairs;
}
