/** The keys that say how many pods: stock scaling annotations and our own beside them. */
import {
  BUFFER_MODES,
  PROGRESS_DEADLINE_KEY,
  ROLLOUT_DURATION_KEY,
  SCALING_ALGORITHMS,
  SCALING_METRICS,
  STOCK_CLASSES,
  ownKey,
  stockKey,
} from "../../../common/contracts/annotations.ts";
import type { ScalingMetric } from "../../../common/contracts/annotations.ts";
import { readBuffer } from "./buffer-setting.ts";
import type { ClusterDefaults } from "./defaults.ts";
import { isWholeSeconds, parseDuration } from "./duration.ts";
import { MAX_INT32 } from "./reader.ts";
import type { SettingsReader } from "./reader.ts";
import type { Aggregation, ScalingSettings } from "./types.ts";

const HOUR_MS = 3_600_000;
const COUNT_BOUNDS = [0, MAX_INT32] as const;
const MIN_TARGET = 0.01;
const LONG_WINDOW_MS = 300_000;

export function readScalingSettings(
  reader: SettingsReader,
  defaults: ClusterDefaults,
  containerConcurrency: number,
): ScalingSettings {
  checkClass(reader);
  const metric = readMetric(reader);
  return {
    algorithm: reader.word(reader.own("algorithm"), SCALING_ALGORITHMS, "pilot"),
    metric,
    containerConcurrency,
    ...readTarget(reader, defaults),
    ...readBounds(reader, defaults, metric),
    ...readWindows(reader, defaults),
    ...readCooldown(reader, defaults),
    buffer: readBuffer(reader, metric),
    bufferMode: reader.word(reader.own("scaling-buffer-mode"), BUFFER_MODES, "active"),
    scaleUpDelayMs: reader.durationMs(reader.own("scale-up-delay"), {
      boundsMs: [0, 60_000],
      fallbackMs: 1_000,
    }),
    ...readRollout(reader, defaults),
  };
}

function checkClass(reader: SettingsReader): void {
  const found = reader.stock("class");
  if (found === null) return;
  const stock = STOCK_CLASSES.some((name) => name === found.text);
  if (!stock && found.text.endsWith(".knative.dev")) {
    reader.problems.invalid(found.text, found.path);
  }
}

function readMetric(reader: SettingsReader): ScalingMetric {
  const found = reader.stock("metric");
  // The stock webhook writes an empty metric for classes that it does not know.
  const given = found?.text === "" ? null : found;
  return reader.word(
    given,
    SCALING_METRICS,
    "concurrency",
    `must be one of ${SCALING_METRICS.join(", ")}`,
  );
}

function readTarget(
  reader: SettingsReader,
  defaults: ClusterDefaults,
): Pick<
  ScalingSettings,
  "target" | "targetUtilization" | "utilizationAnnotated" | "targetBurstCapacity"
> {
  const foundTarget = reader.stock("target");
  let target = reader.anyNumber(foundTarget);
  if (foundTarget !== null && target !== null && target < MIN_TARGET) {
    reader.problems.add(
      `target ${foundTarget.text} should be at least ${MIN_TARGET}`,
      foundTarget.path,
    );
    target = null;
  }
  const foundUtilization = reader.stock("target-utilization-percentage");
  const percent = reader.number(foundUtilization, [1, 100], defaults.targetUtilization * 100);
  return {
    target,
    targetUtilization: percent / 100,
    utilizationAnnotated: foundUtilization !== null,
    targetBurstCapacity: readBurstCapacity(reader, defaults),
  };
}

function readBurstCapacity(reader: SettingsReader, defaults: ClusterDefaults): number {
  const found = reader.stock("target-burst-capacity");
  const value = reader.anyNumber(found);
  if (found === null || value === null) return defaults.targetBurstCapacity;
  if (value < 0 && value !== -1) {
    reader.problems.invalid(found.text, found.path);
    return defaults.targetBurstCapacity;
  }
  if (value !== -1) {
    reader.problems.warn("target-burst-capacity has no effect: the router is always in the path");
  }
  return value;
}

type Bounds = Pick<
  ScalingSettings,
  "minScale" | "maxScale" | "initialScale" | "activationScale" | "serviceMinScale"
>;

function readBounds(
  reader: SettingsReader,
  defaults: ClusterDefaults,
  metric: ScalingMetric,
): Bounds {
  const count = (key: "min-scale" | "max-scale" | "initial-scale", fallback: number): number =>
    reader.integer(reader.stock(key), COUNT_BOUNDS, fallback);
  let minScale = count("min-scale", defaults.minScale);
  const maxScale = readMaxScale(reader, defaults);
  if (maxScale > 0 && minScale > maxScale) {
    reader.problems.add(
      `max-scale=${maxScale} is less than min-scale=${minScale}`,
      `${stockKey("max-scale")}, ${stockKey("min-scale")}`,
    );
    minScale = maxScale;
  }
  if ((metric === "cpu" || metric === "memory") && minScale < 1) {
    // Use relative to nothing is undefined: without a pod there is nothing to measure.
    reader.problems.add(`metric ${metric} needs min-scale >= 1`, stockKey("min-scale"));
    minScale = 1;
  }
  const serviceMin = reader.own("service-min-scale");
  return {
    minScale,
    maxScale,
    initialScale: readInitialScale(reader, defaults),
    activationScale: readActivationScale(reader, minScale, maxScale),
    serviceMinScale: serviceMin === null ? null : reader.integer(serviceMin, COUNT_BOUNDS, 0),
  };
}

function readMaxScale(reader: SettingsReader, defaults: ClusterDefaults): number {
  const found = reader.stock("max-scale");
  const limit = defaults.maxScaleLimit;
  const bounds = limit > 0 ? ([1, limit] as const) : COUNT_BOUNDS;
  return reader.integer(found, bounds, defaults.maxScale);
}

function readInitialScale(reader: SettingsReader, defaults: ClusterDefaults): number {
  const found = reader.stock("initial-scale");
  const value = reader.integer(found, COUNT_BOUNDS, defaults.initialScale);
  if (found === null || value > 0 || defaults.allowZeroInitialScale) return value;
  reader.problems.invalid(found.text, found.path);
  return defaults.initialScale;
}

function readActivationScale(reader: SettingsReader, minScale: number, maxScale: number): number {
  const found = reader.stock("activation-scale");
  const value = reader.integer(found, [2, MAX_INT32], 0);
  if (found === null || value === 0) return 0;
  if (value < minScale) {
    reader.problems.add(
      `activation-scale=${value} is less than min-scale=${minScale}`,
      `${found.path}, ${stockKey("min-scale")}`,
    );
    return 0;
  }
  if (maxScale > 0 && value > maxScale) {
    reader.problems.add(
      `max-scale=${maxScale} is less than activation-scale=${value}`,
      `${stockKey("max-scale")}, ${found.path}`,
    );
    return 0;
  }
  return value;
}

function readWindows(
  reader: SettingsReader,
  defaults: ClusterDefaults,
): Pick<ScalingSettings, "windowMs" | "panicWindowRatio" | "panicThreshold" | "aggregation"> {
  const window = reader.stock("window");
  const windowMs = reader.durationMs(window, {
    boundsMs: [6_000, HOUR_MS],
    fallbackMs: defaults.stableWindowMs,
    wholeSeconds: true,
  });
  if (window !== null && windowMs > LONG_WINDOW_MS) {
    reader.problems.warn(`window=${window.text} is long: pods follow demand slowly above 5m0s`);
  }
  const percentage = (
    key: "panic-window-percentage" | "panic-threshold-percentage",
    bounds: readonly [number, number],
    fallback: number,
  ): number => reader.number(reader.stock(key), bounds, fallback * 100) / 100;
  return {
    windowMs,
    panicWindowRatio: percentage("panic-window-percentage", [1, 100], defaults.panicWindowRatio),
    panicThreshold: percentage("panic-threshold-percentage", [110, 1_000], defaults.panicThreshold),
    aggregation: readAggregation(reader, defaults),
  };
}

function readAggregation(reader: SettingsReader, defaults: ClusterDefaults): Aggregation {
  const word = reader.word(
    reader.stock("metric-aggregation-algorithm"),
    ["linear", "weighted-exponential", "weightedExponential"],
    defaults.aggregation,
  );
  return word === "linear" ? "linear" : "weighted-exponential";
}

function readCooldown(
  reader: SettingsReader,
  defaults: ClusterDefaults,
): Pick<ScalingSettings, "cooldownMs" | "scaleDownDelayMs" | "lastPodRetentionMs"> {
  const delay = reader.stock("scale-down-delay");
  const own = reader.own("cooldown");
  const scaleDownDelayMs = reader.durationMs(delay, {
    boundsMs: [0, HOUR_MS],
    fallbackMs: defaults.scaleDownDelayMs,
    wholeSeconds: true,
  });
  const cooldownMs = reader.durationMs(own, {
    boundsMs: [0, 24 * HOUR_MS],
    fallbackMs: scaleDownDelayMs,
    wholeSeconds: true,
  });
  if (delay !== null && own !== null && cooldownMs !== scaleDownDelayMs) {
    reader.problems.warn(
      `${delay.path}=${delay.text} and ${own.path}=${own.text} mean the same: ${ownKey("cooldown")} wins`,
    );
  }
  const lastPodRetentionMs = reader.durationMs(reader.stock("scale-to-zero-pod-retention-period"), {
    boundsMs: [0, HOUR_MS],
    fallbackMs: defaults.lastPodRetentionMs,
  });
  return { cooldownMs, scaleDownDelayMs, lastPodRetentionMs };
}

function readRollout(
  reader: SettingsReader,
  defaults: ClusterDefaults,
): Pick<ScalingSettings, "progressDeadlineMs" | "rolloutDurationMs"> {
  const read = (path: string, name: string, minMs: number, fallbackMs: number): number => {
    const found = reader.serving(path);
    if (found === null) return fallbackMs;
    const value = parseDuration(found.text);
    if (value === null) reader.problems.invalid(found.text, path);
    else if (!isWholeSeconds(value)) {
      reader.problems.add(`${name}=${found.text} is not at second precision`, path);
    } else if (value < minMs) reader.problems.add(`${name}=${found.text} must be positive`, path);
    else return value;
    return fallbackMs;
  };
  return {
    // 0s passes the stock webhook, and then no pod ever comes: refused here.
    progressDeadlineMs: read(
      PROGRESS_DEADLINE_KEY,
      "progress-deadline",
      1_000,
      defaults.progressDeadlineMs,
    ),
    rolloutDurationMs: read(ROLLOUT_DURATION_KEY, "rollout-duration", 0, 0),
  };
}
