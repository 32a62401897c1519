/**
 * The demo's own HTTP client: dials 127.0.0.1 and names the service in the Host header, since not
 * every system resolves `*.localhost`. Measures what a caller sees.
 */
import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";

export interface CallOptions {
  /** Base URL of the activator to dial, e.g. `http://127.0.0.1:8080`. */
  readonly via: string;
  /** `NAME.NAMESPACE.localhost`. */
  readonly host: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: Uint8Array | string;
  readonly contentType?: string;
  /** Longest wait for the whole answer in ms. */
  readonly limitMs: number;
  readonly signal?: AbortSignal;
  /** Called with each piece of the body as it arrives. */
  readonly onChunk?: (chunk: Buffer) => void;
}

export interface CallResult {
  /** 0 when no answer came. */
  readonly status: number;
  /** Reason word of an answer made by the platform, or the client's own failure. */
  readonly reason: string;
  readonly coldStart: boolean;
  readonly requestId: string;
  /** `Server-Timing` as it came. */
  readonly serverTiming: string;
  /** When the container says that it could first do its work, ms since the epoch; 0 = it does not say. */
  readonly containerReadyAt: number;
  readonly body: Buffer;
  /** All in ms from the start of the call. */
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export interface Caller {
  call(options: CallOptions): Promise<CallResult>;
  close(): void;
}

export function createCaller(): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return {
    call: (options) => callOnce(agent, options),
    close: () => agent.destroy(),
  };
}

function callOnce(agent: Agent, options: CallOptions): Promise<CallResult> {
  const startedAt = performance.now();
  const { via, host, method = "GET", path = "/", body, contentType } = options;
  const url = new URL(path, via);
  const headers: Record<string, string | number> = { host };
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (body !== undefined) headers["content-length"] = Buffer.byteLength(body);

  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let firstByteMs = 0;
    const elapsed = (): number => performance.now() - startedAt;
    const finish = (result: Pick<CallResult, "status" | "reason"> & Partial<CallResult>): void => {
      clearTimeout(timer);
      resolve({
        coldStart: false,
        requestId: "",
        serverTiming: "",
        containerReadyAt: 0,
        ...result,
        body: Buffer.concat(chunks),
        firstByteMs,
        totalMs: elapsed(),
      });
    };
    const fail = (error: Error): void => finish({ status: 0, reason: error.message });

    const call = request(url, { agent, method, headers, signal: options.signal }, (answer) => {
      firstByteMs = elapsed();
      answer.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        options.onChunk?.(chunk);
      });
      answer.on("error", fail);
      answer.on("end", () => finish(describe(answer)));
    });
    const timer = setTimeout(
      () => call.destroy(new Error(`no answer within ${options.limitMs} ms`)),
      options.limitMs,
    );
    call.on("error", fail);
    call.end(body);
  });
}

function describe(answer: IncomingMessage): Omit<CallResult, "body" | "firstByteMs" | "totalMs"> {
  const header = (name: string): string => String(answer.headers[name] ?? "");
  return {
    status: answer.statusCode ?? 0,
    reason: header("pilotlight-reason"),
    coldStart: header("pilotlight-cold-start") === "true",
    requestId: header("x-request-id"),
    serverTiming: header("server-timing"),
    containerReadyAt: Number(header("x-example-ready-at")) || 0,
  };
}
