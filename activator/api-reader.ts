/**
 * Plain GETs to the API server with the account of this pod: two paths do not need a client
 * library, whose import costs seconds. Tells "it says no" from "it says nothing".
 */
import { readFile } from "node:fs/promises";
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { PlatformError } from "../common/errors.ts";

export interface ApiReaderOptions {
  /** `https://kubernetes.default.svc`; plain `http` reaches a proxy on this machine. */
  readonly apiUrl: string;
  /** Folder with `token` and `ca.crt` of this process's own service account. */
  readonly accountFolder: string;
}

/** Undefined: the API server knows nothing at this path. Rejects with ERR_API_UNAVAILABLE. */
export type ApiReader = (path: string) => Promise<unknown>;

const TIMEOUT_MS = 5_000;
const MAX_REPLY_BYTES = 4 * 1024 * 1024;
/** The key set has a type of its own, and the API server answers 406 to whoever does not take it. */
const ACCEPTED = "application/json, application/jwk-set+json";
/** Pods that start together are read together. */
const POOL = { keepAlive: true, maxSockets: 16, keepAliveMsecs: 10_000 };

export function createApiReader({ apiUrl, accountFolder }: ApiReaderOptions): ApiReader {
  const isPlain = apiUrl.startsWith("http:");
  const agent = isPlain ? new HttpAgent(POOL) : new HttpsAgent(POOL);
  return async (path) => {
    const { status, body } = await account(accountFolder).then((own) =>
      get({ url: new URL(path, apiUrl), agent, isPlain, ...own }),
    );
    if (status === 404) return undefined;
    if (status !== 200) throw unavailable(path, `it answered ${status}`);
    return JSON.parse(body) as unknown;
  };
}

interface Account {
  readonly token: string;
  readonly ca: Buffer;
}

/** Both rotate, so they are read each time; this happens a few times per pod. */
async function account(folder: string): Promise<Account> {
  const [token, ca] = await Promise.all([
    readFile(`${folder}/token`, "utf8"),
    readFile(`${folder}/ca.crt`),
  ]);
  return { token: token.trim(), ca };
}

interface Get extends Account {
  readonly url: URL;
  readonly agent: HttpAgent;
  readonly isPlain: boolean;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function get({ url, agent, isPlain, token, ca }: Get): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: ACCEPTED };
    const options = { agent, ca, headers, timeout: TIMEOUT_MS };
    const call = (isPlain ? httpRequest : httpsRequest)(url, options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
        if (body.length > MAX_REPLY_BYTES) call.destroy(new Error("the reply is too large"));
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", (error) => reject(unavailable(url.pathname, error.message, error)));
    });
    // A socket that stays silent; a trickle is bounded by the size.
    call.on("timeout", () => call.destroy(new Error("no answer in time")));
    call.on("error", (error) => reject(unavailable(url.pathname, error.message, error)));
    call.end();
  });
}

function unavailable(path: string, why: string, cause?: unknown): PlatformError {
  const message = `The API server gave no ${path}: ${why}.`;
  return new PlatformError("ERR_API_UNAVAILABLE", message, { cause });
}
