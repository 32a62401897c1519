/** One tick under `algorithm: kpa`: our figures into stock windows, stock's answer into replicas. */
import type { ClusterDefaults } from "../settings/defaults.ts";
import type { ScalingSettings } from "../settings/types.ts";
import type { LoadHistory } from "../windows.ts";
import type { Condition } from "../condition-types.ts";
import { TimedBuckets } from "./buckets.ts";
import { createKpaState, evaluateKpa } from "./kpa.ts";
import type { KpaState } from "./kpa.ts";
import { kpaParams } from "./params.ts";
import type { KpaParams } from "./params.ts";
import { scaleTarget } from "./scale-target.ts";

export interface KpaInputs {
  readonly nowMs: number;
  readonly settings: ScalingSettings;
  readonly defaults: ClusterDefaults;
  readonly reachable: boolean;
  readonly initialised: boolean;
  readonly history: LoadHistory;
  /** Requests that run or wait at this moment. */
  readonly inFlight: number;
  readonly readyPods: number;
  readonly currentReplicas: number;
  readonly state: KpaState | null;
  readonly active: Condition | undefined;
}

/** What stock saw and computed, for `explain` and the dashboard. */
export interface KpaExplanation {
  readonly stable: number;
  readonly panic: number;
  readonly desired: number;
  readonly panicking: boolean;
  readonly maxPanicPods: number;
  readonly excessBurstCapacity: number;
}

export interface KpaDecision {
  readonly replicas: number;
  /** -1 while nothing is known. */
  readonly want: number;
  readonly comeBackInMs: number | null;
  readonly state: KpaState;
  readonly params: KpaParams;
  readonly explanation: KpaExplanation;
}

export function decideKpa(inputs: KpaInputs): KpaDecision {
  const nowSeconds = Math.floor(inputs.nowMs / 1_000);
  const params = kpaParams(inputs.settings, inputs.defaults, inputs.reachable);
  const before = inputs.state ?? createKpaState(inputs.readyPods, nowSeconds);
  const [stable, panic] = averages(inputs, params, nowSeconds);
  const observed = { nowSeconds, readyPods: inputs.readyPods, stable, panic };
  const result = evaluateKpa(params, observed, before);
  const action = scaleTarget(scaleTargetInputs(inputs, result.desired));
  return {
    replicas: action.patchReplicas ?? inputs.currentReplicas,
    want: action.want,
    comeBackInMs: action.requeueAfterSeconds === null ? null : action.requeueAfterSeconds * 1_000,
    state: result.state,
    params,
    explanation: {
      stable,
      panic,
      desired: result.desired,
      panicking: result.state.panicSince !== null,
      maxPanicPods: result.state.maxPanicPods,
      excessBurstCapacity: result.excessBurstCapacity,
    },
  };
}

function averages(
  inputs: KpaInputs,
  params: KpaParams,
  nowSeconds: number,
): readonly [stable: number, panic: number] {
  const stable = new TimedBuckets(params.stableWindowSeconds);
  const panic = new TimedBuckets(params.panicWindowSeconds);
  const values = secondValues(inputs, params, nowSeconds);
  for (const [age, value] of values.entries()) {
    const second = nowSeconds - (values.length - 1 - age);
    stable.record(second, value);
    panic.record(second, value);
  }
  const { aggregation } = params;
  return [stable.average(nowSeconds, aggregation), panic.average(nowSeconds, aggregation)];
}

/** Mean of each second of the record, oldest first; the last entry is the present second. */
function secondValues(inputs: KpaInputs, params: KpaParams, nowSeconds: number): number[] {
  const byRate = params.scalingMetric === "rps";
  const values = inputs.history
    .seconds(nowSeconds, params.stableWindowSeconds)
    .map((mean) => (byRate ? mean.rate : mean.concurrency))
    .toReversed();
  // At zero stock is told of a first request at once, not at the end of its second.
  const first = inputs.currentReplicas === 0 && inputs.inFlight > 0;
  if (first && (values.at(-1) ?? 0) === 0) values.splice(-1, 1, inputs.inFlight);
  return values;
}

function scaleTargetInputs(inputs: KpaInputs, desired: number): Parameters<typeof scaleTarget>[0] {
  const { settings, defaults, active } = inputs;
  return {
    desired,
    currentReplicas: inputs.currentReplicas,
    reachable: inputs.reachable,
    initialised: inputs.initialised,
    minScale: settings.minScale,
    maxScale: settings.maxScale,
    initialScale: settings.initialScale,
    active: {
      status: active?.status ?? "Unknown",
      seconds: active === undefined ? 0 : (inputs.nowMs - active.changedAt) / 1_000,
    },
    // Our activators never leave the path, so the grace period has always passed.
    proxiedSeconds: Number.POSITIVE_INFINITY,
    proxyMode: true,
    alwaysProxied: true,
    activatorAnswers: true,
    enableScaleToZero: defaults.enableScaleToZero,
    stableWindowSeconds: settings.windowMs / 1_000,
    progressDeadlineSeconds: settings.progressDeadlineMs / 1_000,
    graceSeconds: defaults.scaleToZeroGraceMs / 1_000,
    retentionSeconds: settings.lastPodRetentionMs / 1_000,
  };
}
