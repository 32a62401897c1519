/**
 * How many activators serve a revision: by what it may have in flight, so that an activator's
 * memory and connections grow with its part of the services and not with all of them. More at once
 * and before they are needed; fewer only after a window in which fewer would have done.
 */
import { LEAST_ACTIVATORS } from "../../common/activator-subset.ts";

/** As remembered between decisions, and across restarts. */
export interface ActivatorState {
  readonly count: number;
  /** Since when fewer would do, and the most that were needed since; null: all are needed. */
  readonly low: { readonly sinceMs: number; readonly most: number } | null;
}

export interface ActivatorLoad {
  /** Pods asked for, or that still exist where those are more. */
  readonly pods: number;
  /** Slots per pod; 0: no limit. */
  readonly containerConcurrency: number;
  readonly busy: number;
  readonly waiting: number;
}

/** A change sets the ServerlessService's condition back for a moment; a minute's swing must not. */
export const LEAST_WINDOW_MS = 60_000;
/** Room beyond what is asked for now. */
const HEADROOM = 1.25;

/** Requests in flight that one activator is reckoned to carry: `activator-capacity`. */
export function activatorsForLoad(load: ActivatorLoad, activatorCapacity: number): number {
  const { pods, containerConcurrency, busy, waiting } = load;
  const inFlight = Math.max(pods * containerConcurrency, busy + waiting);
  return stepAbove(Math.ceil((inFlight * HEADROOM) / activatorCapacity));
}

/** 2, 3, 4, 6, 8, 12 and so on: each step gives room for a third more at least, and changes are few. */
function stepAbove(needed: number): number {
  let step = LEAST_ACTIVATORS;
  while (step < needed) {
    const isPowerOfTwo = (step & (step - 1)) === 0;
    step = isPowerOfTwo ? step + step / 2 : (step * 4) / 3;
  }
  return step;
}

export function nextActivators(
  before: ActivatorState | null,
  needed: number,
  given: { readonly nowMs: number; readonly windowMs: number },
): ActivatorState {
  if (before === null || needed >= before.count) {
    return { count: Math.max(needed, LEAST_ACTIVATORS), low: null };
  }
  const { nowMs } = given;
  const { sinceMs, most } = before.low ?? { sinceMs: nowMs, most: needed };
  const low = { sinceMs, most: Math.max(most, needed) };
  if (nowMs - sinceMs < Math.max(LEAST_WINDOW_MS, given.windowMs)) return { ...before, low };
  const isLess = needed < low.most;
  return { count: low.most, low: isLess ? { sinceMs: nowMs, most: needed } : null };
}
