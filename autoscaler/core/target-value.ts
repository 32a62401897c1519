/** The load that one pod should carry. */
import type { ScalingSettings } from "./settings/types.ts";

/** No target is ever below this, as in stock. */
export const MIN_TARGET_VALUE = 0.01;
/** Stock defaults of the target annotation by metric. */
const DEFAULT_CONCURRENCY = 100;
const DEFAULT_RATE = 200;
const DEFAULT_RESOURCE_PERCENT = 100;

export type TargetSettings = Pick<
  ScalingSettings,
  "metric" | "containerConcurrency" | "target" | "targetUtilization"
>;

export interface TargetDefaults {
  readonly containerConcurrencyTarget: number;
  readonly requestsPerSecondTarget: number;
}

const STOCK_TARGETS: TargetDefaults = {
  containerConcurrencyTarget: DEFAULT_CONCURRENCY,
  requestsPerSecondTarget: DEFAULT_RATE,
};

/** What one pod can take at most, before utilization. */
export function totalValue(
  settings: TargetSettings,
  defaults: TargetDefaults = STOCK_TARGETS,
): number {
  const { metric, target, containerConcurrency } = settings;
  if (metric === "rps") return target ?? defaults.requestsPerSecondTarget;
  if (metric === "cpu" || metric === "memory") return target ?? DEFAULT_RESOURCE_PERCENT;
  if (containerConcurrency === 0) return target ?? defaults.containerConcurrencyTarget;
  return target === null ? containerConcurrency : Math.min(target, containerConcurrency);
}

/** What we aim for: the total times utilization; cpu and memory are aimed at as given. */
export function targetValue(
  settings: TargetSettings,
  defaults: TargetDefaults = STOCK_TARGETS,
): number {
  const total = totalValue(settings, defaults);
  if (settings.metric === "cpu" || settings.metric === "memory") return total;
  return Math.max(MIN_TARGET_VALUE, total * settings.targetUtilization);
}
