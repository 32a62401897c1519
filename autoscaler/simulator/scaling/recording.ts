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
  grantedAt: number | null;
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
  const arrivals: Arrival[] = [];
  const end = (lease: string, endUs: number): void => {
    const request = requests.get(lease);
    requests.delete(lease);
    if (request === undefined || request.grantedAt === null) return;
    const atMs = (request.arrivedAt - sinceUs) / 1_000;
    if (atMs >= 0) arrivals.push({ atMs, serviceMs: (endUs - request.grantedAt) / 1_000 });
  };
  for (const { at, operation, lease } of steps) {
    if (operation === "wait" || operation === "acquire") {
      // A rerouted request comes a second time: it arrived at the first.
      const known = requests.get(lease);
      const grantedAt = operation === "acquire" ? at : null;
      requests.set(lease, { arrivedAt: known?.arrivedAt ?? at, grantedAt });
    } else if (operation === "assign") {
      const request = requests.get(lease);
      if (request !== undefined) request.grantedAt = at;
    } else if (operation === "release" || operation === "cancel") end(lease, at);
  }
  const lastUs = steps.at(-1)?.at ?? sinceUs;
  for (const lease of requests.keys()) end(lease, lastUs);
  return arrivals.toSorted((left, right) => left.atMs - right.atMs);
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
