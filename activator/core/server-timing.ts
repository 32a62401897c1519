/** Where the time of a request went, as the `Server-Timing` header shows it, in ms. */

export interface RequestTimes {
  /** Naming the revision and asking the store. */
  readonly routeMs: number;
  /** Waiting for a slot while pods existed. */
  readonly queueMs: number;
  /** Waiting for a first pod. */
  readonly coldStartMs: number;
  /** From the grant of the slot to a standing connection. */
  readonly connectMs: number;
  /** From the standing connection to the head of the answer. */
  readonly upstreamMs: number;
}

export function serverTiming(times: RequestTimes): string {
  return (
    `route;dur=${short(times.routeMs)}, queue;dur=${short(times.queueMs)}, ` +
    `coldstart;dur=${short(times.coldStartMs)}, connect;dur=${short(times.connectMs)}, ` +
    `upstream;dur=${short(times.upstreamMs)}`
  );
}

/** Two decimals at most; 10 us is finer than anything that is decided by it. */
function short(ms: number): string {
  const hundredths = Math.max(0, Math.round(ms * 100));
  return TEXTS[hundredths] ?? String(hundredths / 100);
}

/** Of the usual times, up to 10 ms: a fraction is made to text five times per answer otherwise. */
const TEXTS: readonly string[] = Array.from({ length: 1_000 }, (_, index) => String(index / 100));
