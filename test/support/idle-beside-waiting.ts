/**
 * Work conservation measured in the store's own log: for how long, by server time, a ready target
 * without a lease and with a free slot stood beside a waiting request.
 */
import type { StoreEvent } from "../../store/types.ts";

export interface IdleBesideWaiting {
  /** Longest span in ms. */
  readonly longestMs: number;
  /** Every such span in ms. */
  readonly spansMs: readonly number[];
  /** Entries read, so that a test can tell an empty log from a good one. */
  readonly entries: number;
}

export function idleBesideWaiting(events: readonly StoreEvent[]): IdleBesideWaiting {
  const idle = new Set<string>();
  let waiting = 0;
  let sinceUs: number | null = null;
  const spansMs: number[] = [];
  for (const event of events) {
    waiting = event.waiting;
    if (isIdle(event)) idle.add(event.target);
    else idle.delete(event.target);
    const both = waiting > 0 && idle.size > 0;
    if (both && sinceUs === null) sinceUs = event.at;
    if (!both && sinceUs !== null) {
      spansMs.push((event.at - sinceUs) / 1000);
      sinceUs = null;
    }
  }
  return { longestMs: Math.max(0, ...spansMs), spansMs, entries: events.length };
}

function isIdle({ target, state, inFlight, free }: StoreEvent): boolean {
  return target !== "" && state === "ready" && inFlight === 0 && free > 0;
}
