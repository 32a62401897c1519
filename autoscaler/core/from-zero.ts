/** When to decide again because of requests that wait, long before the next tick. */

export interface WaitingFigures {
  readonly nowMs: number;
  readonly waiting: number;
  /** Of those, how many count for scale-up already. */
  readonly aged: number;
  readonly oldestArrivedAtMs: number;
  readonly scaleUpDelayMs: number;
}

/** First requests of several activators come within a few ms; one write with the right number. */
export const GATHER_MS = 10;
/** A younger request behind an aged one is looked at again after a part of the delay. */
const NEXT_LOOK_SHARE = 4;
const MIN_LOOK_MS = 20;

/** Milliseconds until the next waiting request comes of age; `null` when none will. */
export function nextAgeingMs(figures: WaitingFigures): number | null {
  if (figures.waiting <= figures.aged) return null;
  const remainingMs =
    figures.aged === 0
      ? figures.oldestArrivedAtMs + figures.scaleUpDelayMs - figures.nowMs
      : figures.scaleUpDelayMs / NEXT_LOOK_SHARE;
  return Math.max(MIN_LOOK_MS, remainingMs);
}

/** Pods for the requests that run and those that have waited long enough. */
export function podsForWaiting(
  load: { readonly busy: number; readonly aged: number },
  targetValue: number,
): number {
  return load.aged > 0 ? (load.busy + load.aged) / targetValue : 0;
}
