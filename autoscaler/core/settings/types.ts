/** The settings of one revision after reading: every key typed, ranged and defaulted. */
import type { ComputeTier } from "../../../common/compute-tier.ts";
import type {
  BufferMode,
  ScalingAlgorithm,
  ScalingMetric,
} from "../../../common/contracts/annotations.ts";
import type {
  LoadBalancingPolicy,
  QuarantineAction,
  QueueOrder,
  RetryMode,
} from "../../../common/contracts/routing.ts";

export type Aggregation = "linear" | "weighted-exponential";

/** Spare pods beyond demand: a number, or a ratio of the demand (0.25 for `25%`). */
export type ScalingBuffer =
  | { readonly kind: "pods"; readonly pods: number }
  | { readonly kind: "ratio"; readonly ratio: number };

export interface ScalingSettings {
  readonly algorithm: ScalingAlgorithm;
  readonly metric: ScalingMetric;
  readonly containerConcurrency: number;
  /** Value of the `target` annotation, `null` where it is absent. */
  readonly target: number | null;
  /** Ratio, 1 for 100 %. */
  readonly targetUtilization: number;
  /** True where the annotation, not the cluster, gave the ratio: stock rps looks at nothing else. */
  readonly utilizationAnnotated: boolean;
  readonly minScale: number;
  /** 0 means no limit. */
  readonly maxScale: number;
  readonly initialScale: number;
  /** 0 means none, else at least 2. */
  readonly activationScale: number;
  readonly windowMs: number;
  readonly cooldownMs: number;
  /** What stock calls it; the `kpa` algorithm uses this one. */
  readonly scaleDownDelayMs: number;
  readonly lastPodRetentionMs: number;
  readonly panicWindowRatio: number;
  readonly panicThreshold: number;
  readonly aggregation: Aggregation;
  readonly targetBurstCapacity: number;
  readonly buffer: ScalingBuffer;
  readonly bufferMode: BufferMode;
  /** `null` where unset. */
  readonly serviceMinScale: number | null;
  readonly scaleUpDelayMs: number;
  readonly progressDeadlineMs: number;
  readonly rolloutDurationMs: number;
}

export interface RoutingSettings {
  /** Resolved, never "automatic". */
  readonly loadBalancing: LoadBalancingPolicy;
  readonly timeoutMs: number;
  readonly responseStartTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly queueDepth: number;
  readonly queueTimeoutMs: number;
  readonly activationTimeoutMs: number;
  readonly retry: RetryMode;
  readonly quarantinePeriodMs: number;
  readonly quarantineMaxMs: number;
  readonly quarantineAction: QuarantineAction;
  readonly flapThreshold: number;
  readonly sessionAffinity: "none" | "soft" | "strict";
  readonly async: "disabled" | "enabled";
  readonly asyncMaxDurationMs: number;
  readonly webhookHosts: readonly string[];
}

export interface UrgencySettings {
  /** `null` where unset. */
  readonly sloMs: number | null;
  readonly stages: readonly { readonly name: string; readonly durationMs: number }[];
  readonly alpha: "auto" | number;
  readonly binding: "late" | "early";
  readonly queueOrder: QueueOrder;
  readonly starvationLimitMs: number;
  readonly localQueue: number;
}

export interface PlacementSettings {
  readonly computeTier: ComputeTier;
  readonly gpuPreference: readonly string[];
  /** Empty: home cell only. */
  readonly regions: readonly string[];
  readonly auth: "none" | "jwt" | null;
  readonly localCommand: string | null;
}

export type RevisionSettings = ScalingSettings &
  RoutingSettings &
  UrgencySettings &
  PlacementSettings;

export interface SettingsInput {
  /** Of the revision. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Of the Service; only live keys count, and win. */
  readonly serviceAnnotations?: Readonly<Record<string, string>> | undefined;
  readonly containerConcurrency?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly responseStartTimeoutSeconds?: number | undefined;
  readonly idleTimeoutSeconds?: number | undefined;
  readonly requestsGpu: boolean;
  /** Cards of the cluster by family, e.g. `{ L40S: "nvidia" }`; absent: any name passes. */
  readonly knownCards?: Readonly<Record<string, string>> | undefined;
  readonly knownRegions?: readonly string[] | undefined;
}

export interface SettingsResult {
  /** Always usable: a faulty key has its default. */
  readonly settings: RevisionSettings;
  /** In the stock form `message: path`, all of them. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}
