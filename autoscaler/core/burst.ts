/**
 * The burst term: reacts like stock's panic mode without being a mode. From the tick on at which
 * the short mean asks for a multiple of the ready pods, it counts, until a whole window has passed
 * without such a tick; what stock's panic would hold, the cooldown holds.
 */
import { ceilPods } from "./rounding.ts";
import type { ScalingSettings } from "./settings/types.ts";

const MIN_SHORT_WINDOW_MS = 1_000;

export function shortWindowMs(
  settings: Pick<ScalingSettings, "windowMs" | "panicWindowRatio">,
): number {
  return Math.max(MIN_SHORT_WINDOW_MS, settings.windowMs * settings.panicWindowRatio);
}

export interface BurstInputs {
  readonly nowMs: number;
  readonly shortMean: number;
  readonly targetValue: number;
  readonly readyPods: number;
  readonly settings: Pick<ScalingSettings, "windowMs" | "panicThreshold">;
  /** Instant of the last tick over the threshold, `null` before any. */
  readonly lastOverAtMs: number | null;
}

export interface BurstTerm {
  readonly pods: number;
  readonly lastOverAtMs: number | null;
}

export function burstTerm(inputs: BurstInputs): BurstTerm {
  const { nowMs, settings } = inputs;
  const pods = ceilPods(inputs.shortMean / inputs.targetValue);
  const over = pods >= settings.panicThreshold * Math.max(1, inputs.readyPods);
  if (over) return { pods, lastOverAtMs: nowMs };
  const last = inputs.lastOverAtMs;
  if (last === null || nowMs - last > settings.windowMs) return { pods: 0, lastOverAtMs: null };
  return { pods, lastOverAtMs: last };
}
