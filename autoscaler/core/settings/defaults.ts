/**
 * What holds where a revision says nothing. The values come from the stock ConfigMaps
 * (`config-autoscaler`, `config-defaults`, `config-deployment`), so that kubectl shows the truth.
 */
import type { Aggregation } from "./types.ts";

/** Label by which nodes that may be taken back are told from the others, and its two values. */
export interface TierLabel {
  readonly key: string;
  readonly interruptible: string;
  readonly protected: string;
}

export interface ClusterDefaults {
  readonly enableScaleToZero: boolean;
  readonly allowZeroInitialScale: boolean;
  /** Ratio, 1 for 100 %. */
  readonly targetUtilization: number;
  readonly containerConcurrencyTarget: number;
  readonly requestsPerSecondTarget: number;
  readonly targetBurstCapacity: number;
  readonly stableWindowMs: number;
  readonly panicWindowRatio: number;
  readonly panicThreshold: number;
  readonly maxScaleUpRate: number;
  readonly maxScaleDownRate: number;
  readonly scaleDownDelayMs: number;
  readonly scaleToZeroGraceMs: number;
  readonly lastPodRetentionMs: number;
  readonly activatorCapacity: number;
  readonly initialScale: number;
  readonly minScale: number;
  /** 0 means no limit. */
  readonly maxScale: number;
  readonly maxScaleLimit: number;
  readonly aggregation: Aggregation;
  /** `null`: 1 for a pod that asks for a GPU, else 100. */
  readonly containerConcurrency: number | null;
  readonly containerConcurrencyLimit: number;
  readonly timeoutSeconds: number;
  readonly timeoutLimitSeconds: number;
  /** `null`: as the timeout. */
  readonly responseStartTimeoutSeconds: number | null;
  readonly idleTimeoutSeconds: number;
  readonly progressDeadlineMs: number;
  readonly auth: "none" | "jwt" | null;
  /** `null`: the cluster does not tell its nodes apart. */
  readonly tierLabel: TierLabel | null;
}

/** Knative as shipped. */
export const STOCK_DEFAULTS: ClusterDefaults = Object.freeze({
  enableScaleToZero: true,
  allowZeroInitialScale: false,
  targetUtilization: 0.7,
  containerConcurrencyTarget: 100,
  requestsPerSecondTarget: 200,
  targetBurstCapacity: 211,
  stableWindowMs: 60_000,
  panicWindowRatio: 0.1,
  panicThreshold: 2,
  maxScaleUpRate: 1_000,
  maxScaleDownRate: 2,
  scaleDownDelayMs: 0,
  scaleToZeroGraceMs: 30_000,
  lastPodRetentionMs: 0,
  activatorCapacity: 100,
  initialScale: 1,
  minScale: 0,
  maxScale: 0,
  maxScaleLimit: 0,
  aggregation: "linear",
  containerConcurrency: 0,
  containerConcurrencyLimit: 1_000,
  timeoutSeconds: 300,
  timeoutLimitSeconds: 600,
  responseStartTimeoutSeconds: null,
  idleTimeoutSeconds: 0,
  progressDeadlineMs: 600_000,
  auth: null,
  tierLabel: null,
});

/** What our installer writes into the ConfigMaps, and local mode starts from. */
export const PLATFORM_DEFAULTS: ClusterDefaults = Object.freeze({
  ...STOCK_DEFAULTS,
  // A card need not start only because a service was deployed.
  allowZeroInitialScale: true,
  // With one request per pod, 70 % would mean 43 % more GPUs for the same load.
  targetUtilization: 1,
  targetBurstCapacity: -1,
  stableWindowMs: 30_000,
  scaleDownDelayMs: 10_000,
  // No limit is a cost accident on GPUs, 1 surprises those who know Knative.
  maxScale: 10,
  containerConcurrency: null,
  timeoutSeconds: 900,
  timeoutLimitSeconds: 43_200,
});
