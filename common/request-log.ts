/**
 * One line per request in the operator's own template (contract 2.12 and 3.8), the same at both
 * hops: the data that a template sees, and what becomes of one with a mistake. Pure.
 */
import { compileTemplate, printValue } from "./log-template.ts";
import type { Template, TemplateValue } from "./log-template.ts";

/** What is read of a request; the proxy core's head fits. */
export interface LoggedRequest {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: "1.0" | "1.1" | "2";
  readonly headers: readonly string[];
  readonly host: string;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly contentLength: number;
  readonly isEncrypted?: boolean;
}

export interface LoggedResponse {
  readonly status: number;
  readonly bytes: number;
  readonly seconds: number;
}

export interface LoggedCall {
  readonly request: LoggedRequest;
  readonly response: LoggedResponse;
  /** Fields of `.Revision`: Name, Namespace, Service, Configuration, at the pod also its name and address. */
  readonly revision: Readonly<Record<string, string>>;
  readonly traceId: string;
}

export type RequestLine = (call: LoggedCall) => string;

/** Undefined for an empty template; the line says what is wrong where one cannot be filled in. */
export function createRequestLine(
  text: string,
  onInvalid: (line: string) => void,
): RequestLine | undefined {
  const template = text === "" ? undefined : compile(text, onInvalid);
  if (template === undefined) return undefined;
  return ({ request, response, revision, traceId }) => {
    try {
      const line = template({
        Request: requestData(request),
        Response: { Code: response.status, Size: response.bytes, Latency: response.seconds },
        Revision: revision,
        TraceID: traceId,
      });
      return `${line}\n`;
    } catch (error) {
      return `Invalid request log template: ${textOf(error)}\n`;
    }
  };
}

function compile(text: string, onInvalid: (line: string) => void): Template | undefined {
  try {
    return compileTemplate(text);
  } catch (error) {
    onInvalid(`Invalid request log template: ${textOf(error)}\n`);
    return undefined;
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function requestData(head: LoggedRequest): TemplateValue {
  const get = (name: TemplateValue): string =>
    firstHeader(head.headers, printValue(name).toLowerCase());
  const [path = "", query = ""] = head.target.split("?", 2);
  const { remoteAddress, remotePort } = head;
  const address = remoteAddress.includes(":") ? `[${remoteAddress}]` : remoteAddress;
  return {
    Method: head.method,
    RequestURI: head.target,
    ContentLength: head.contentLength,
    Host: head.host,
    Proto: head.httpVersion === "2" ? "HTTP/2.0" : `HTTP/${head.httpVersion}`,
    RemoteAddr: `${address}:${remotePort}`,
    UserAgent: () => get("user-agent"),
    Referer: () => get("referer"),
    Header: { ...headerMap(head.headers), Get: (name) => get(name) },
    URL: { Path: path, RawQuery: query, String: () => head.target },
    TLS: head.isEncrypted === true ? "{TLS}" : null,
  };
}

/** Names as Go spells them: every part of a name begins with a capital letter. */
function headerMap(headers: readonly string[]): Record<string, string[]> {
  const map: Record<string, string[]> = {};
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = String(headers[i])
      .toLowerCase()
      .replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
    (map[name] ??= []).push(String(headers[i + 1]));
  }
  return map;
}

/** Of the caller's trace context, in either of its forms; empty without one. */
export function traceIdOf(headers: readonly string[]): string {
  const parent = firstHeader(headers, "traceparent");
  return parent === "" ? firstHeader(headers, "x-b3-traceid") : (parent.split("-")[1] ?? "");
}

function firstHeader(headers: readonly string[], lowerName: string): string {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if ((headers[at] ?? "").toLowerCase() === lowerName) return headers[at + 1] ?? "";
  }
  return "";
}
