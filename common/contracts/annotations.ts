/**
 * Annotation keys that the platform reads, and the closed lists of words some of them take.
 * Stock keys keep their stock meaning; keys under `pilotlight.dev/` say what stock cannot.
 */

export const PILOTLIGHT_PREFIX = "pilotlight.dev/";
export const AUTOSCALING_PREFIX = "autoscaling.knative.dev/";
export const SERVING_PREFIX = "serving.knative.dev/";

/** Value of `autoscaling.knative.dev/class` by which a revision chooses this platform. */
export const SCALER_CLASS = "scaler.pilotlight.dev";
export const STOCK_CLASSES = [
  "kpa.autoscaling.knative.dev",
  "hpa.autoscaling.knative.dev",
] as const;

/** Stock keys under `autoscaling.knative.dev/`, with the older spelling where one exists. */
export const STOCK_KEYS = {
  class: null,
  metric: null,
  target: null,
  "target-utilization-percentage": "targetUtilizationPercentage",
  "target-burst-capacity": "targetBurstCapacity",
  "min-scale": "minScale",
  "max-scale": "maxScale",
  "initial-scale": "initialScale",
  "activation-scale": null,
  "scale-down-delay": "scaleDownDelay",
  "scale-to-zero-pod-retention-period": "scaleToZeroPodRetentionPeriod",
  window: null,
  "panic-window-percentage": "panicWindowPercentage",
  "panic-threshold-percentage": "panicThresholdPercentage",
  "metric-aggregation-algorithm": "metricAggregationAlgorithm",
} as const satisfies Record<string, string | null>;
export type StockKey = keyof typeof STOCK_KEYS;

export const ROLLOUT_DURATION_KEY = "serving.knative.dev/rollout-duration";
export const PROGRESS_DEADLINE_KEY = "serving.knative.dev/progress-deadline";

/**
 * Keys under `pilotlight.dev/`. `live` ones may stand on the Service too, win there, and take
 * effect without a new revision; `revision` ones belong to the template.
 */
export const OWN_KEYS = {
  cooldown: "live",
  "scaling-buffer": "live",
  "scaling-buffer-mode": "live",
  "load-balancing": "live",
  "compute-tier": "revision",
  "gpu-preference": "revision",
  regions: "live",
  auth: "revision",
  "queue-depth": "revision",
  "queue-timeout": "revision",
  "activation-timeout": "revision",
  "scale-up-delay": "live",
  "service-min-scale": "live",
  retry: "revision",
  "quarantine-period": "revision",
  "quarantine-max": "revision",
  "quarantine-action": "revision",
  "flap-threshold": "revision",
  "session-affinity": "revision",
  async: "revision",
  "async-max-duration": "revision",
  "webhook-hosts": "revision",
  algorithm: "live",
  "local-command": "revision",
  slo: "live",
  stages: "live",
  alpha: "live",
  binding: "live",
  "queue-order": "live",
  "starvation-limit": "live",
  "local-queue": "live",
} as const satisfies Record<string, "live" | "revision">;
export type OwnKey = keyof typeof OWN_KEYS;

export const SCALING_METRICS = ["concurrency", "rps", "cpu", "memory"] as const;
export type ScalingMetric = (typeof SCALING_METRICS)[number];

export const SCALING_ALGORITHMS = ["pilot", "kpa"] as const;
export type ScalingAlgorithm = (typeof SCALING_ALGORITHMS)[number];

export const BUFFER_MODES = ["active", "always"] as const;
export type BufferMode = (typeof BUFFER_MODES)[number];

/** Full name of a key of ours: `pilotlight.dev/cooldown`. */
export function ownKey(key: OwnKey): `${typeof PILOTLIGHT_PREFIX}${OwnKey}` {
  return `${PILOTLIGHT_PREFIX}${key}`;
}

/** Full name of a stock scaling key: `autoscaling.knative.dev/window`. */
export function stockKey(key: StockKey): `${typeof AUTOSCALING_PREFIX}${StockKey}` {
  return `${AUTOSCALING_PREFIX}${key}`;
}
