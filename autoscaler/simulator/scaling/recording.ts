/**
 * A trace from the event log of a revision: exact, because the scripts write it in the order and
 * with the time in which they act.
 */
import type { Arrival } from "./types.ts";

/** What is read of an entry of the event log. */
export interface RecordedStep {
  /** Time of the store, us. */
  readonly at: number;
  readonly operation: string;
  readonly lease: string;
}

interface RecordedRequest {
  readonly arrivedAt: number;
  readonly grantedAt: number | null;
}

/**
 * Requests that arrived and ended after `sinceUs`, in order of arrival. One that was still running
 * at the end of the log is taken to end there; one that never got a slot is left out.
 */
export function arrivalsFromLog(
  steps: readonly RecordedStep[],
  sinceUs: number,
): readonly Arrival[] {
  const requests = new Map<string, RecordedRequest>();
  const ended: (RecordedRequest & { readonly endedAt: number })[] = [];
  const end = (lease: string, endedAt: number): void => {
    const request = requests.get(lease);
    requests.delete(lease);
    if (request !== undefined) ended.push({ ...request, endedAt });
  };
  for (const { at, operation, lease } of steps) {
    if (operation === "release" || operation === "cancel") end(lease, at);
    else if (isRequestStep(operation))
      requests.set(lease, nextState(requests.get(lease), operation, at));
  }
  const lastUs = steps.at(-1)?.at ?? sinceUs;
  for (const lease of requests.keys()) end(lease, lastUs);
  return ended
    .flatMap(({ arrivedAt, grantedAt, endedAt }) => {
      const atMs = (arrivedAt - sinceUs) / 1_000;
      if (grantedAt === null || atMs < 0) return [];
      return [{ atMs, serviceMs: (endedAt - grantedAt) / 1_000 }];
    })
    .toSorted((left, right) => left.atMs - right.atMs);
}

function isRequestStep(operation: string): boolean {
  return operation === "wait" || operation === "acquire" || operation === "assign";
}

/** A rerouted request comes a second time: it arrived at the first, and runs from its last grant. */
function nextState(
  known: RecordedRequest | undefined,
  operation: string,
  at: number,
): RecordedRequest {
  return { arrivedAt: known?.arrivedAt ?? at, grantedAt: operation === "wait" ? null : at };
}

/** As `parseTrace` reads it. */
export function formatTrace(arrivals: readonly Arrival[]): string {
  const lines = arrivals.map(({ atMs, serviceMs }) => `${shown(atMs)},${shown(serviceMs)}`);
  return `${["atMs,serviceMs", ...lines].join("\n")}\n`;
}

/** To the microsecond, as recorded. */
function shown(ms: number): string {
  return String(Number(ms.toFixed(3)));
}
