/** Bounded load on a service of a running platform: N callers, a fixed number of requests. */
import { callService } from "./call-service.ts";

export interface LoadOptions {
  /** Base URLs to use in turn, one per request. */
  readonly via: readonly string[];
  readonly host: string;
  readonly path: string;
  readonly requests: number;
  readonly callers: number;
  readonly method?: string;
}

export interface LoadAnswer {
  /** 0 when the connection broke. */
  readonly status: number;
  readonly reason: string;
  readonly via: string;
  readonly ms: number;
}

export async function runLoad(options: LoadOptions): Promise<LoadAnswer[]> {
  const answers: LoadAnswer[] = [];
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < options.requests) {
      const via = options.via[next % options.via.length] ?? "";
      next += 1;
      answers.push(await callOnce(options, via));
    }
  };
  await Promise.all(Array.from({ length: options.callers }, caller));
  return answers;
}

async function callOnce(options: LoadOptions, via: string): Promise<LoadAnswer> {
  const startedAt = performance.now();
  const { host, path, method } = options;
  try {
    const answer = await callService(via, host, method === undefined ? { path } : { path, method });
    const reason = String(answer.headers["pilotlight-reason"] ?? "");
    return { status: answer.status, reason, via, ms: performance.now() - startedAt };
  } catch (error) {
    return { status: 0, reason: String(error), via, ms: performance.now() - startedAt };
  }
}
