/**
 * Calls to the API server: JSON in, JSON out, each with a time limit, and streams for watches.
 * Plain requests instead of the generated client: a watch of ours must notice by itself that its
 * connection is half open, and a page of pods must not be copied three times.
 */
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { RequestOptions } from "node:https";
import { PlatformError } from "../../common/errors.ts";
import type { ApiAccess } from "./api-access.ts";

export type WriteMethod = "POST" | "PUT" | "PATCH" | "DELETE";
export type PatchType = "json-patch" | "merge-patch" | "apply-patch";

export interface ApiCall {
  readonly method: "GET" | WriteMethod;
  readonly path: string;
  readonly body?: unknown;
  readonly patch?: PatchType;
}

export interface ApiClient {
  /** Rejects with ERR_API_UNAVAILABLE; `apiStatus` tells the status in it. */
  read<T>(path: string): Promise<T>;
  /** The same for what is no JSON. */
  readText(path: string): Promise<string>;
  write<T>(call: ApiCall): Promise<T>;
  /** The body of a watch as it comes; rejects when the head is not a 200. */
  open(path: string, signal: AbortSignal): Promise<IncomingMessage>;
  /** The network may have died without a word: the next calls use new connections. */
  renewConnections(): void;
  close(): void;
}

/** Of one call; a page of a list is the largest there is. */
const CALL_TIMEOUT_MS = 10_000;
const MAX_REPLY_BYTES = 256 * 1024 * 1024;
/** Of a refusal, only the beginning is worth showing. */
const MAX_FAULT_BYTES = 64 * 1024;
/** Calls at the same time; watches have connections of their own. */
const MAX_CALLS = 32;

export function createApiClient(access: ApiAccess): ApiClient {
  const Agent = access.url.protocol === "http:" ? HttpAgent : HttpsAgent;
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CALLS, timeout: CALL_TIMEOUT_MS });
  const watchAgent = new Agent({ keepAlive: false });

  const send = async (
    call: ApiCall,
    how: { readonly agent: HttpAgent; readonly signal: AbortSignal },
  ): Promise<IncomingMessage> => {
    const { headers: proof, ...tls } = await access.options();
    const body = call.body === undefined ? "" : JSON.stringify(call.body);
    const headers = { ...proof, accept: "application/json", ...bodyHeaders(call, body) };
    const options = { ...tls, ...how, method: call.method, headers };
    return exchange(new URL(call.path, access.url), options, body);
  };

  const call = async <T>(request: ApiCall): Promise<T> => JSON.parse(await callText(request)) as T;
  const callText = async (request: ApiCall): Promise<string> => {
    const signal = AbortSignal.timeout(CALL_TIMEOUT_MS);
    try {
      const answer = await send(request, { agent, signal });
      const text = await textOf(answer, MAX_REPLY_BYTES);
      if (isGood(answer)) return text;
      throw refusal(request, answer, text);
    } catch (error) {
      if (signal.aborted) dropIdle(agent);
      throw asApiError(request, error);
    }
  };

  return {
    read: (path) => call({ method: "GET", path }),
    readText: (path) => callText({ method: "GET", path }),
    write: call,
    open: async (path, signal) => {
      const request: ApiCall = { method: "GET", path };
      try {
        const answer = await send(request, { agent: watchAgent, signal });
        if (isGood(answer)) return answer;
        throw refusal(request, answer, await textOf(answer, MAX_FAULT_BYTES));
      } catch (error) {
        throw asApiError(request, error);
      }
    },
    renewConnections: () => dropIdle(agent),
    close: () => {
      agent.destroy();
      watchAgent.destroy();
    },
  };
}

function dropIdle(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

/** Status of an answer that was an error; 0 where none came. */
export function apiStatus(error: unknown): number {
  const status = error instanceof PlatformError ? error.details["status"] : undefined;
  return typeof status === "number" ? status : 0;
}

/** Resolves to `fallback` where the object is not there (any more). */
export async function orGone<T>(work: Promise<T>, fallback: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (apiStatus(error) === 404) return fallback;
    throw error;
  }
}

function exchange(url: URL, options: RequestOptions, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const begin = url.protocol === "http:" ? httpRequest : httpsRequest;
    const request = begin(url, options, resolve);
    request.on("error", reject);
    request.end(body);
  });
}

/** JSON is YAML, which is what an apply is declared to be. */
const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  "json-patch": "application/json-patch+json",
  "merge-patch": "application/merge-patch+json",
  "apply-patch": "application/apply-patch+yaml",
};

function bodyHeaders(call: ApiCall, body: string): Record<string, string> {
  if (body === "") return {};
  const type = call.patch === undefined ? "application/json" : PATCH_TYPES[call.patch];
  return { "content-type": type, "content-length": String(Buffer.byteLength(body)) };
}

function isGood(answer: IncomingMessage): boolean {
  const status = answer.statusCode ?? 0;
  return status >= 200 && status < 300;
}

async function textOf(answer: IncomingMessage, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer) {
    // A readable without encoding yields buffers.
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > limit) throw new Error(`the reply is longer than ${limit} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function refusal(call: ApiCall, answer: IncomingMessage, text: string): PlatformError {
  const status = answer.statusCode ?? 0;
  return new PlatformError(
    "ERR_API_UNAVAILABLE",
    `The API server answered ${status} to ${call.method} ${call.path}: ${messageOf(text)}`,
    { details: { status, path: call.path } },
  );
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    if (typeof message === "string") return message.slice(0, 1_000);
  } catch {
    // Not the API server's own form: a proxy in front of it, for example.
  }
  return text.slice(0, 200).trim();
}

function asApiError(call: ApiCall, error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  return new PlatformError(
    "ERR_API_UNAVAILABLE",
    `No answer of the API server to ${call.method} ${call.path}.`,
    { cause: error, details: { status: 0, path: call.path } },
  );
}
