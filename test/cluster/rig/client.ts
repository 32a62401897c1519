/** A client outside the cluster: requests through the ingress, with what the server said of itself. */
import { Agent, request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { GATEWAY, NETWORK } from "../../../scripts/cluster/layout.ts";

export interface Answer {
  /** 0: the connection broke or the time was over. */
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly ms: number;
  /** Wall-clock time of the start, to be laid beside the server's own times. */
  readonly sentAt: number;
  readonly error: string;
}

export interface Call {
  readonly service: string;
  readonly namespace?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 4096 });

export const hostOf = ({ service, namespace = "default" }: Call): string =>
  `${service}.${namespace}.${GATEWAY.domain}`;

/** Sends one request and reads its answer to the end; never throws. */
export function call(options: Call): Promise<Answer> {
  const startedAt = performance.now();
  const sentAt = performance.timeOrigin + startedAt;
  return new Promise((resolve) => {
    const done = (
      status: number,
      body: string,
      headers: IncomingHttpHeaders,
      error: string,
    ): void => resolve({ status, body, headers, error, sentAt, ms: performance.now() - startedAt });
    const sent = request({
      host: NETWORK.control,
      port: GATEWAY.externalPort,
      path: options.path ?? "/",
      method: options.method ?? "GET",
      headers: { ...options.headers, host: hostOf(options) },
      agent,
      signal: AbortSignal.timeout(options.timeoutMs ?? 120_000),
    });
    sent.once("error", (error) => done(0, "", {}, error.message));
    sent.once("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.once("end", () => done(response.statusCode ?? 0, body, response.headers, ""));
      response.once("error", (error) => done(0, body, response.headers, error.message));
    });
    sent.end();
  });
}

export function closeConnections(): void {
  agent.destroy();
}

/** A header of the test server that holds a number. */
export function numberIn({ headers }: Answer, name: string): number {
  const value = Number(headers[name]);
  if (!Number.isFinite(value)) throw new Error(`The answer has no number in ${name}`);
  return value;
}
