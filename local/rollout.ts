/**
 * Traffic of `latest` that moves to a new revision step by step, as pure functions: which split
 * holds at a step, when the next one is due, and whether the new revision can take it.
 */
import type { RouteTarget } from "../common/contracts/local-run.ts";

/** Of the same size each: a fifth of what `latest` gets. */
export const ROLLOUT_STEPS = 5;

export interface Rollout {
  /** Name of the revision that traffic moves to. */
  readonly to: string;
  /** Split at the start, oldest first; percents of what `latest` gets, sum 100. */
  readonly from: readonly RouteTarget[];
  /** Steps taken, from 1. */
  readonly step: number;
  /** Instant of the last step, ms since the epoch. */
  readonly steppedAt: number;
}

export function beginRollout(to: string, from: readonly RouteTarget[], now: number): Rollout {
  return { to, from, step: 1, steppedAt: now };
}

/** The next step; `null` when that one was the last. */
export function nextStep(rollout: Rollout, now: number): Rollout | null {
  const step = rollout.step + 1;
  return step >= ROLLOUT_STEPS ? null : { ...rollout, step, steppedAt: now };
}

/** Share of the new revision after so many steps, percent of what `latest` gets. */
export function stepPercent(step: number): number {
  return (100 * step) / ROLLOUT_STEPS;
}

/** The first step comes at once and the last one at the end of the duration. */
export function stepDueAt(rollout: Rollout, durationMs: number): number {
  return rollout.steppedAt + durationMs / (ROLLOUT_STEPS - 1);
}

/** Who has how much of `latest` now, oldest first. The oldest revisions are drained first. */
export function rolloutSplit(rollout: Rollout): readonly RouteTarget[] {
  const own = stepPercent(rollout.step);
  let left = 100 - own;
  const others = rollout.from.toReversed().map(({ revision, percent }) => {
    const kept = Math.min(percent, left);
    left -= kept;
    return { revision, percent: kept };
  });
  const split = [...others.toReversed(), { revision: rollout.to, percent: own }];
  return split.filter(({ percent }) => percent > 0);
}

/** Whole percents of `total` in the proportions of the split; the largest remainders round up. */
export function scaleSplit(split: readonly RouteTarget[], total: number): readonly RouteTarget[] {
  const exact = split.map(({ percent }) => (percent * total) / 100);
  const whole = exact.map(Math.floor);
  let missing = total - whole.reduce((sum, percent) => sum + percent, 0);
  const byRemainder = exact
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .toSorted((left, right) => right.remainder - left.remainder || right.index - left.index);
  for (const { index } of byRemainder) {
    if (missing <= 0) break;
    whole[index] = (whole[index] ?? 0) + 1;
    missing -= 1;
  }
  const scaled = split.map(({ revision }, index) => ({ revision, percent: whole[index] ?? 0 }));
  return scaled.filter(({ percent }) => percent > 0);
}

export interface StepFacts {
  /** Slots of the ready pods of the new revision; infinite where a pod has no limit. */
  readonly slots: number;
  /** Requests that run or wait: on the new revision, and on all that share `latest`. */
  readonly ownLoad: number;
  readonly wholeLoad: number;
  readonly readyPods: number;
  readonly wantedPods: number;
}

/** The new revision has free slots for what the next step brings, or all pods that it wants. */
export function mayStep(rollout: Rollout, facts: StepFacts): boolean {
  const grown = stepPercent(rollout.step + 1) - stepPercent(rollout.step);
  const needed = Math.ceil((facts.wholeLoad * grown) / 100);
  if (facts.slots - facts.ownLoad >= needed) return true;
  return facts.wantedPods > 0 && facts.readyPods >= facts.wantedPods;
}
