/** The header list that a client gets: the handler's list with exactly the framing that is sent. */
import { HOP_BY_HOP_HEADERS } from "../common/contracts/headers.ts";
import { getHeader } from "./headers.ts";
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
  const { framing, request } = context;
  const keepsLength =
    framing.kind === "length" || (framing.kind === "none" && head.status !== NO_CONTENT);
  const list: string[] = [];
  let isFramed = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    const lower = name.toLowerCase();
    if (lower === "content-length") {
      if (!keepsLength || isFramed) continue;
      isFramed = true;
    } else if (HOP_BY_HOP_HEADERS.has(lower)) continue;
    list.push(name, headers[i + 1] ?? "");
  }
  if (framing.kind === "length" && !isFramed) list.push("Content-Length", String(framing.length));
  const announced = getHeader(head.headers, "trailer");
  if (announced !== undefined && framing.kind === "chunked" && request.httpVersion === "1.1") {
    list.push("Trailer", announced);
  }
  return list;
}

/** The 101 that hands a connection over. */
export function switchHeadText(head: ResponseHead, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${head.status} ${head.statusText}\r\nConnection: Upgrade\r\n`;
  const upgrade = getHeader(head.headers, "upgrade");
  if (upgrade !== undefined) text += `Upgrade: ${upgrade}\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    const lower = name.toLowerCase();
    if (lower === "content-length" || HOP_BY_HOP_HEADERS.has(lower)) continue;
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
