/** Annotations and cluster settings to the numbers that the stock algorithm works with. */
import type { ClusterDefaults } from "../settings/defaults.ts";
import type { Aggregation, ScalingSettings } from "../settings/types.ts";
import { MIN_TARGET_VALUE, totalValue } from "../target-value.ts";

/** Stock aims at 70 % of a rate unless the annotation says otherwise, whatever the cluster says. */
const RATE_UTILIZATION = 0.7;

export interface KpaParams {
  readonly scalingMetric: "concurrency" | "rps";
  readonly totalValue: number;
  readonly targetValue: number;
  readonly stableWindowSeconds: number;
  readonly panicWindowSeconds: number;
  readonly panicThreshold: number;
  readonly maxScaleUpRate: number;
  readonly maxScaleDownRate: number;
  readonly scaleDownDelaySeconds: number;
  readonly activationScale: number;
  readonly initialScale: number;
  readonly targetBurstCapacity: number;
  readonly activatorCapacity: number;
  readonly aggregation: Aggregation;
  readonly reachable: boolean;
}

export function kpaParams(
  settings: ScalingSettings,
  defaults: ClusterDefaults,
  reachable: boolean,
): KpaParams {
  const metric = settings.metric === "rps" ? "rps" : "concurrency";
  const total = totalValue({ ...settings, metric }, defaults);
  const utilization =
    metric === "rps" && !settings.utilizationAnnotated
      ? RATE_UTILIZATION
      : settings.targetUtilization;
  const stableWindowSeconds = settings.windowMs / 1_000;
  return {
    scalingMetric: metric,
    totalValue: total,
    targetValue: Math.max(MIN_TARGET_VALUE, total * utilization),
    stableWindowSeconds,
    panicWindowSeconds: Math.max(1, Math.round(stableWindowSeconds * settings.panicWindowRatio)),
    panicThreshold: settings.panicThreshold,
    maxScaleUpRate: defaults.maxScaleUpRate,
    maxScaleDownRate: defaults.maxScaleDownRate,
    scaleDownDelaySeconds: settings.scaleDownDelayMs / 1_000,
    activationScale: settings.activationScale,
    initialScale: settings.initialScale,
    targetBurstCapacity: settings.targetBurstCapacity,
    activatorCapacity: defaults.activatorCapacity,
    aggregation: settings.aggregation,
    reachable,
  };
}
