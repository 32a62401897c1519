/**
 * Ours against `kpa` on a trace, at equal settings and at each one's best. The best of `kpa` is what
 * `pilotlight plan` would answer: waiting p95 of 2 s at the least GPU time. The best of ours is the
 * point with the least product of waiting and GPU time among those that are worse than that in
 * neither; so both ratios speak of the same settings.
 */
import { PLATFORM_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import { readSettings } from "../../autoscaler/core/settings/settings.ts";
import type { ScalingAlgorithm } from "../../common/contracts/annotations.ts";
import { ownKey } from "../../common/contracts/annotations.ts";
import { KNOBS, searchSettings } from "../../autoscaler/simulator/scaling/search.ts";
import type { Annotations, Candidate } from "../../autoscaler/simulator/scaling/search.ts";
import { simulateScaling } from "../../autoscaler/simulator/scaling/simulate.ts";
import type { ScalingResult } from "../../autoscaler/simulator/scaling/types.ts";
import { START_TIMES_MS } from "./traces.ts";
import type { NamedTrace } from "./traces.ts";

export const TARGET_MS = 2_000;
/** Waits below this are the same to a caller; without a floor a ratio of two of them means nothing. */
export const FLOOR_MS = 50;
/** A GPU second is dear: one percent less of it counts as four percent less waiting. */
const WAIT_WEIGHT = 0.25;
const AFTER_LAST_MS = 600_000;
/** The upper bound would decide otherwise. */
const DEFAULTS = { ...PLATFORM_DEFAULTS, maxScale: 0 };

export interface Duel {
  readonly trace: string;
  readonly requests: number;
  readonly equal: Readonly<Record<ScalingAlgorithm, ScalingResult>>;
  readonly best: Readonly<Record<ScalingAlgorithm, Candidate>>;
  /** The least GPU time of ours for the same target, for those who want nothing else. */
  readonly cheapest: Candidate;
  readonly tried: Readonly<Record<ScalingAlgorithm, readonly Candidate[]>>;
  readonly waitRatio: number;
  readonly gpuRatio: number;
}

export function duel(trace: NamedTrace): Duel {
  const runWith =
    (algorithm: ScalingAlgorithm) =>
    (annotations: Annotations): ScalingResult =>
      run(trace, { ...annotations, [ownKey("algorithm")]: algorithm });
  const stock = searchSettings({
    knobs: KNOBS.kpa,
    evaluate: runWith("kpa"),
    score: (result) => planScore(result, TARGET_MS),
  });
  const limit = stock.best.result;
  const cheapest = searchSettings({
    knobs: KNOBS.pilot,
    evaluate: runWith("pilot"),
    score: (result) => planScore(result, TARGET_MS),
  });
  const ours = searchSettings({
    knobs: KNOBS.pilot,
    evaluate: runWith("pilot"),
    score: (result) => scoreAgainst(result, limit),
    known: cheapest.tried,
  });
  return {
    trace: trace.name,
    requests: trace.arrivals.length,
    equal: { kpa: run(trace, { [ownKey("algorithm")]: "kpa" }), pilot: run(trace, {}) },
    best: { kpa: stock.best, pilot: ours.best },
    cheapest: cheapest.best,
    tried: { kpa: stock.tried, pilot: ours.tried },
    waitRatio: waitOf(ours.best.result) / waitOf(limit),
    gpuRatio: ours.best.result.podSeconds.total / limit.podSeconds.total,
  };
}

export function run(
  trace: NamedTrace,
  annotations: Annotations,
  startTimesMs: readonly number[] = START_TIMES_MS,
): ScalingResult {
  const { settings, errors } = readSettings(
    { annotations, containerConcurrency: 1, requestsGpu: true },
    DEFAULTS,
  );
  if (errors.length > 0) throw new Error(errors.join("\n"));
  const horizonMs = (trace.arrivals.at(-1)?.atMs ?? 0) + AFTER_LAST_MS;
  const { arrivals } = trace;
  return simulateScaling({
    settings,
    defaults: DEFAULTS,
    arrivals,
    startTimesMs,
    seed: 5,
    horizonMs,
  });
}

/** Waiting as it is compared. */
export function waitOf(result: ScalingResult): number {
  return Math.max(FLOOR_MS, result.waitMs.p95);
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/** What misses the target comes after everything that meets it, the nearest first. */
function planScore(result: ScalingResult, targetMs: number): number {
  const missMs = result.waitMs.p95 - targetMs;
  return missMs > 0 || result.unserved > 0 ? 1e12 + missMs : result.podSeconds.total;
}

function scoreAgainst(result: ScalingResult, limit: ScalingResult): number {
  const wait = waitOf(result) / waitOf(limit);
  const gpu = result.podSeconds.total / limit.podSeconds.total;
  const excess = Math.max(0, wait - 1) + Math.max(0, gpu - 1);
  return excess > 0 || result.unserved > 0 ? 10 + excess : wait ** WAIT_WEIGHT * gpu;
}
