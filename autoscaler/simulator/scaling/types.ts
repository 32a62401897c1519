/** What a scaling simulation is given and what it answers; plain data, the same for every algorithm. */
import type { ClusterDefaults } from "../../core/settings/defaults.ts";
import type { RevisionSettings } from "../../core/settings/types.ts";

export interface Arrival {
  /** From the start of the trace, in ms. */
  readonly atMs: number;
  /** Time that the work itself takes on a slot. */
  readonly serviceMs: number;
}

export interface ScalingScenario {
  readonly settings: RevisionSettings;
  readonly defaults: ClusterDefaults;
  /** In order of arrival. */
  readonly arrivals: readonly Arrival[];
  /** Measured start times of pods in ms; each start draws one. */
  readonly startTimesMs: readonly number[];
  readonly seed: number;
  /** GPU time counts up to here, so that variants compare over the same span. */
  readonly horizonMs: number;
  /** Pods at the start, all of them ready. */
  readonly initialPods?: number;
  /** Start times of the first pods in order of creation, as a live run had them; then draws. */
  readonly startsInOrderMs?: readonly number[];
  /** Instants of the ticks, as a live run had them; absent: every two seconds. */
  readonly ticksAtMs?: readonly number[];
  /** Instants at which the platform told of a change of its pods, beside readiness. */
  readonly podChangesAtMs?: readonly number[];
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Pod time up to the horizon, in seconds. */
export interface PodSeconds {
  readonly total: number;
  readonly starting: number;
  /** At least one request ran. */
  readonly used: number;
  /** Ready without a request. */
  readonly idle: number;
}

export interface ScalingResult {
  readonly requests: number;
  /** Requests that found no ready pod. */
  readonly coldStarts: number;
  readonly podStarts: number;
  readonly peakPods: number;
  readonly scaleChanges: number;
  /** From arrival to a slot, in ms. */
  readonly waitMs: Quantiles;
  readonly podSeconds: PodSeconds;
  /** Requests that had no slot by the horizon. */
  readonly unserved: number;
  /** Sum of all waits, in seconds. */
  readonly waitSeconds: number;
  /** Each change of the scale: `[ms, pods]`. */
  readonly scale: readonly (readonly [atMs: number, pods: number])[];
  /** The scale after each tick, where the scenario names its ticks; else empty. */
  readonly ticks: readonly (readonly [atMs: number, pods: number])[];
}
