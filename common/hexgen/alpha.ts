/**
 * Which alpha to use, given what a simulation of each predicts: the smallest predicted tail, but
 * only when it gains enough to be worth a change.
 */

/** Value until the tuner applies another one. */
export const INITIAL_ALPHA = 0.3;
/** Gain below which the current value stays. */
export const ALPHA_HYSTERESIS = 0.02;
export const ALPHA_GRID: readonly number[] = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
const REFINEMENT = 0.05;
const TIE = 1e-9;

/** A value of alpha and the 95th percentile of latency over objective that it would give. */
export interface AlphaPrediction {
  readonly alpha: number;
  readonly tail: number;
}

/** The best prediction; ties go to the value nearest to the current one, then to the lower. */
export function bestAlpha(
  predictions: readonly AlphaPrediction[],
  current: number,
): AlphaPrediction | undefined {
  let best: AlphaPrediction | undefined;
  for (const prediction of predictions) {
    if (best === undefined || isBetter(prediction, best, current)) best = prediction;
  }
  return best;
}

function isBetter(left: AlphaPrediction, right: AlphaPrediction, current: number): boolean {
  if (Math.abs(left.tail - right.tail) > TIE) return left.tail < right.tail;
  const leftDistance = Math.abs(left.alpha - current);
  const rightDistance = Math.abs(right.alpha - current);
  if (Math.abs(leftDistance - rightDistance) > TIE) return leftDistance < rightDistance;
  return left.alpha < right.alpha;
}

/** The alpha to apply: the best one when it beats the current by more than the hysteresis. */
export function chooseAlpha(
  predictions: readonly AlphaPrediction[],
  current: number,
  hysteresis: number,
): number {
  const best = bestAlpha(predictions, current);
  if (best === undefined) return current;
  const now = predictions.find(({ alpha }) => Math.abs(alpha - current) <= TIE);
  if (now === undefined) return best.alpha;
  return best.tail < now.tail * (1 - hysteresis) ? best.alpha : current;
}

/** Values to try around the best of the grid. */
export function refinedAlphas(best: number): number[] {
  return [best - REFINEMENT, best + REFINEMENT]
    .map((alpha) => Math.round(alpha * 100) / 100)
    .filter((alpha) => alpha >= 0 && alpha <= 1);
}

const MIN_BETWEEN_RUNS_MS = 60_000;
const MAX_BETWEEN_RUNS_MS = 900_000;
const QUIET_AFTER_FAILURE_MS = 120_000;
const DEPARTURE_RATIO = 0.2;

export interface TuningSituation {
  readonly now: number;
  /** 0 when the tuner never ran. */
  readonly lastRunAt: number;
  /** Last failure of a target; 0 when there was none. */
  readonly lastFailureAt: number;
  readonly poolChanged: boolean;
  readonly observedTail: number;
  /** 0 when nothing was predicted yet. */
  readonly predictedTail: number;
}

export type TuningTrigger = "pool-changed" | "prediction-missed" | "time-passed";

/** Why the tuner should run now, or `undefined` while it should not. */
export function tuningTrigger(situation: TuningSituation): TuningTrigger | undefined {
  const { now, lastRunAt, lastFailureAt, observedTail, predictedTail } = situation;
  if (lastFailureAt > 0 && now - lastFailureAt < QUIET_AFTER_FAILURE_MS) return undefined;
  if (lastRunAt > 0 && now - lastRunAt < MIN_BETWEEN_RUNS_MS) return undefined;
  if (situation.poolChanged) return "pool-changed";
  const departure = Math.abs(observedTail - predictedTail);
  if (predictedTail > 0 && departure > DEPARTURE_RATIO * predictedTail) return "prediction-missed";
  return now - lastRunAt >= MAX_BETWEEN_RUNS_MS ? "time-passed" : undefined;
}
