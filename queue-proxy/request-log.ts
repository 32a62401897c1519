/**
 * One line per request on standard output, in the operator's own template (contract 2.12). Off
 * unless the controller turns it on.
 */
import type { RequestHead } from "../proxy/types.ts";
import { getHeader } from "../proxy/headers.ts";
import type { QueueProxyConfig } from "./config.ts";
import type { Template, TemplateValue } from "./core/log-template.ts";
import { compileTemplate, printValue } from "./core/log-template.ts";

export interface LoggedResponse {
  readonly status: number;
  readonly bytes: number;
  readonly seconds: number;
}

export type RequestLog = (head: RequestHead, response: LoggedResponse) => void;

/** Undefined when the log is off, or its template is empty. */
export function createRequestLog(
  config: QueueProxyConfig,
  write: (line: string) => void,
): RequestLog | undefined {
  const { requestLogTemplate, enableRequestLog } = config.observability;
  if (!enableRequestLog || requestLogTemplate === "") return undefined;
  const template = compile(requestLogTemplate, write);
  if (template === undefined) return undefined;
  return (head, response) => {
    try {
      write(`${template(templateData(config, head, response))}\n`);
    } catch (error) {
      write(`Invalid request log template: ${textOf(error)}\n`);
    }
  };
}

function compile(text: string, write: (line: string) => void): Template | undefined {
  try {
    return compileTemplate(text);
  } catch (error) {
    write(`Invalid request log template: ${textOf(error)}\n`);
    return undefined;
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function templateData(
  config: QueueProxyConfig,
  head: RequestHead,
  response: LoggedResponse,
): TemplateValue {
  return {
    Request: requestData(head),
    Response: { Code: response.status, Size: response.bytes, Latency: response.seconds },
    Revision: {
      Name: config.revision,
      Namespace: config.namespace,
      Service: config.service,
      Configuration: config.configuration,
      PodName: config.podName,
      PodIP: config.podIp,
    },
    TraceID: traceId(head.headers),
  };
}

function requestData(head: RequestHead): TemplateValue {
  const get = (name: TemplateValue): string =>
    getHeader(head.headers, printValue(name).toLowerCase()) ?? "";
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

function traceId(headers: readonly string[]): string {
  const parent = getHeader(headers, "traceparent");
  if (parent !== undefined) return parent.split("-")[1] ?? "";
  return getHeader(headers, "x-b3-traceid") ?? "";
}
