/**
 * Pods asked for by the load, before bounds and cooldown: a slow term over the window, a fast term
 * for waiting requests and bursts, and the buffer.
 */
import { bufferPods } from "./buffer.ts";
import { burstTerm } from "./burst.ts";
import { podsForWaiting } from "./from-zero.ts";
import { ceilPods } from "./rounding.ts";
import type { ScalingSettings } from "./settings/types.ts";
import { targetValue } from "./target-value.ts";
import type { TargetDefaults } from "./target-value.ts";
import type { LoadMean } from "./windows.ts";

/** Inside this band around the target, cpu and memory change nothing. */
const RESOURCE_TOLERANCE = 0.1;

export interface LoadInputs {
  readonly nowMs: number;
  readonly settings: ScalingSettings;
  readonly targetDefaults?: TargetDefaults | undefined;
  /** Means over the window, and over its last part for bursts. */
  readonly mean: LoadMean;
  readonly shortMean: LoadMean;
  /** Mean use of cpu or memory in % of the request over the window; `null` when unknown. */
  readonly resourcePercent: number | null;
  readonly busy: number;
  readonly waiting: number;
  readonly aged: number;
  readonly readyPods: number;
  /** Pods that exist and are not leaving, ready or not. */
  readonly livePods: number;
  readonly currentReplicas: number;
  readonly lastBurstAtMs: number | null;
}

/** The result with every part of the formula, for `explain` and the dashboard. */
export interface LoadWish {
  /** Demand with buffer and activation scale. */
  readonly asked: number;
  readonly mean: LoadMean;
  readonly shortMean: LoadMean;
  readonly targetValue: number;
  readonly slow: number;
  readonly waitingTerm: number;
  /** With a buffer: pods for the requests that run now; else 0 (decision 13). */
  readonly runningTerm: number;
  readonly burst: number;
  /** max(slow, fast). */
  readonly demand: number;
  readonly buffer: number;
  readonly lastBurstAtMs: number | null;
}

export function askForLoad(inputs: LoadInputs): LoadWish {
  const { settings } = inputs;
  const target = targetValue(settings, inputs.targetDefaults);
  const terms =
    settings.metric === "cpu" || settings.metric === "memory"
      ? resourceTerms(inputs, target)
      : loadTerms(inputs, target);
  const demand = Math.max(terms.slow, terms.waitingTerm, terms.runningTerm, terms.burst);
  const buffer = bufferPods(demand, settings);
  const activated = demand > 0 ? Math.max(demand + buffer, settings.activationScale) : buffer;
  return {
    asked: activated,
    mean: inputs.mean,
    shortMean: inputs.shortMean,
    targetValue: target,
    ...terms,
    demand,
    buffer,
  };
}

type Terms = Pick<LoadWish, "slow" | "waitingTerm" | "runningTerm" | "burst" | "lastBurstAtMs">;

function loadTerms(inputs: LoadInputs, target: number): Terms {
  const byRate = inputs.settings.metric === "rps";
  const load = (mean: LoadMean): number => (byRate ? mean.rate : mean.concurrency);
  const burst = burstTerm({
    nowMs: inputs.nowMs,
    shortMean: load(inputs.shortMean),
    targetValue: target,
    readyPods: inputs.readyPods,
    settings: inputs.settings,
    lastOverAtMs: inputs.lastBurstAtMs,
  });
  return {
    slow: ceilPods(load(inputs.mean) / target),
    waitingTerm: byRate ? firstPod(inputs) : ceilPods(podsForWaiting(inputs, target)),
    runningTerm: byRate ? 0 : ceilPods(podsForRunning(inputs) / target),
    burst: burst.pods,
    lastBurstAtMs: burst.lastOverAtMs,
  };
}

/**
 * Slots held, where a buffer promises a free pod beside them: the mean over the window follows work
 * that runs longer than the window too late to keep that promise.
 */
function podsForRunning({ settings, busy }: LoadInputs): number {
  const { buffer } = settings;
  const none = buffer.kind === "pods" ? buffer.pods === 0 : buffer.ratio === 0;
  return none ? 0 : busy;
}

/** A rate says nothing about requests that wait; without any pod one must come. */
function firstPod(inputs: LoadInputs): number {
  return inputs.waiting > 0 && inputs.livePods === 0 ? 1 : 0;
}

function resourceTerms(inputs: LoadInputs, target: number): Terms {
  const rest = { waitingTerm: 0, runningTerm: 0, burst: 0, lastBurstAtMs: null };
  const { resourcePercent, readyPods, currentReplicas } = inputs;
  if (resourcePercent === null || readyPods === 0) return { slow: currentReplicas, ...rest };
  const ratio = resourcePercent / target;
  if (Math.abs(ratio - 1) <= RESOURCE_TOLERANCE + 1e-9) return { slow: readyPods, ...rest };
  return { slow: ceilPods(readyPods * ratio), ...rest };
}
