/**
 * The stock ConfigMaps to ClusterDefaults. A faulty map changes nothing: the last good one stays in
 * force and the faults are named, so one typing error cannot move every service of a cluster.
 */
import { parseDuration, isWholeSeconds } from "./duration.ts";
import type { ClusterDefaults } from "./defaults.ts";
import { parseNumber } from "./reader.ts";

export interface ConfigMaps {
  readonly autoscaler?: Readonly<Record<string, string>>;
  readonly defaults?: Readonly<Record<string, string>>;
  readonly deployment?: Readonly<Record<string, string>>;
}

export interface DefaultsResult {
  readonly defaults: ClusterDefaults;
  /** Not empty: `defaults` are the last good ones. */
  readonly errors: readonly string[];
}

type Draft = { -readonly [K in keyof ClusterDefaults]: ClusterDefaults[K] };
type Apply = (text: string, draft: Draft) => string | null;

const number =
  (
    accept: (value: number) => boolean,
    expected: string,
    set: (draft: Draft, value: number) => void,
  ): Apply =>
  (text, draft) => {
    const value = parseNumber(text);
    if (value === null || !accept(value)) return `expected ${expected}`;
    set(draft, value);
    return null;
  };

const integer = (min: number, set: (draft: Draft, value: number) => void): Apply =>
  number((value) => Number.isInteger(value) && value >= min, `an integer >= ${min}`, set);

const duration =
  (
    accept: (ms: number) => boolean,
    expected: string,
    set: (draft: Draft, ms: number) => void,
  ): Apply =>
  (text, draft) => {
    const ms = parseDuration(text);
    if (ms === null || !accept(ms)) return `expected ${expected}`;
    set(draft, ms);
    return null;
  };

const flag =
  (set: (draft: Draft, value: boolean) => void): Apply =>
  (text, draft) => {
    if (!/^(?:true|false|t|f|1|0)$/i.test(text)) return "expected true or false";
    set(draft, /^(?:true|t|1)$/i.test(text));
    return null;
  };

const AUTOSCALER: Readonly<Record<string, Apply>> = {
  "enable-scale-to-zero": flag((d, v) => void (d.enableScaleToZero = v)),
  "allow-zero-initial-scale": flag((d, v) => void (d.allowZeroInitialScale = v)),
  "container-concurrency-target-percentage": number(
    (v) => v > 0 && v <= 100,
    "a number above 0 and up to 100",
    // Values up to 1 are ratios: 0.5 and 50 say the same, and 1 means 100 %.
    (d, v) => void (d.targetUtilization = v > 1 ? v / 100 : v),
  ),
  "container-concurrency-target-default": number(
    (v) => v > 0,
    "a number above 0",
    (d, v) => void (d.containerConcurrencyTarget = v),
  ),
  "requests-per-second-target-default": number(
    (v) => v >= 0.01,
    "a number >= 0.01",
    (d, v) => void (d.requestsPerSecondTarget = v),
  ),
  "target-burst-capacity": number(
    (v) => v >= 0 || v === -1,
    "a number >= 0, or -1",
    (d, v) => void (d.targetBurstCapacity = v),
  ),
  "stable-window": duration(
    (ms) => ms >= 6_000 && ms <= 3_600_000 && isWholeSeconds(ms),
    "whole seconds from 6s to 1h",
    (d, ms) => void (d.stableWindowMs = ms),
  ),
  "panic-window-percentage": number(
    (v) => v >= 1 && v <= 100,
    "a number from 1 to 100",
    (d, v) => void (d.panicWindowRatio = v / 100),
  ),
  "panic-threshold-percentage": number(
    (v) => v > 0,
    "a number above 0",
    (d, v) => void (d.panicThreshold = v / 100),
  ),
  "max-scale-up-rate": number(
    (v) => v > 1,
    "a number above 1",
    (d, v) => void (d.maxScaleUpRate = v),
  ),
  "max-scale-down-rate": number(
    (v) => v > 1,
    "a number above 1",
    (d, v) => void (d.maxScaleDownRate = v),
  ),
  "scale-down-delay": duration(
    (ms) => ms >= 0 && isWholeSeconds(ms),
    "whole seconds >= 0s",
    (d, ms) => void (d.scaleDownDelayMs = ms),
  ),
  "scale-to-zero-grace-period": duration(
    (ms) => ms > 0,
    "a duration above 0s",
    (d, ms) => void (d.scaleToZeroGraceMs = ms),
  ),
  "scale-to-zero-pod-retention-period": duration(
    (ms) => ms >= 0,
    "a duration >= 0s",
    (d, ms) => void (d.lastPodRetentionMs = ms),
  ),
  "activator-capacity": number(
    (v) => v >= 1,
    "a number >= 1",
    (d, v) => void (d.activatorCapacity = v),
  ),
  "initial-scale": integer(0, (d, v) => void (d.initialScale = v)),
  "min-scale": integer(0, (d, v) => void (d.minScale = v)),
  "max-scale": integer(0, (d, v) => void (d.maxScale = v)),
  "max-scale-limit": integer(0, (d, v) => void (d.maxScaleLimit = v)),
};

/** `karpenter.sh/capacity-type=spot,on-demand`: a label and its values, as Kubernetes has them. */
const TIER_LABEL =
  /^((?:[a-z0-9.-]{1,253}\/)?[A-Za-z0-9][\w.-]{0,62})=([A-Za-z0-9][\w.-]{0,62}),([A-Za-z0-9][\w.-]{0,62})$/;

const DEFAULTS: Readonly<Record<string, Apply>> = {
  "revision-timeout-seconds": integer(1, (d, v) => void (d.timeoutSeconds = v)),
  "max-revision-timeout-seconds": integer(1, (d, v) => void (d.timeoutLimitSeconds = v)),
  "revision-response-start-timeout-seconds": integer(
    0,
    (d, v) => void (d.responseStartTimeoutSeconds = v),
  ),
  "revision-idle-timeout-seconds": integer(0, (d, v) => void (d.idleTimeoutSeconds = v)),
  "container-concurrency": integer(0, (d, v) => void (d.containerConcurrency = v)),
  "container-concurrency-max-limit": integer(1, (d, v) => void (d.containerConcurrencyLimit = v)),
  "pilotlight.dev/auth": (text, draft) => {
    if (text !== "none" && text !== "jwt") return "expected none or jwt";
    draft.auth = text;
    return null;
  },
  "pilotlight.dev/tier-label": (text, draft) => {
    const [, key = "", interruptible = "", guarded = ""] = TIER_LABEL.exec(text) ?? [];
    if (key === "") return "expected KEY=INTERRUPTIBLE,PROTECTED";
    draft.tierLabel = { key, interruptible, protected: guarded };
    return null;
  },
};

const DEPLOYMENT: Readonly<Record<string, Apply>> = {
  "progress-deadline": duration(
    (ms) => ms >= 1_000 && isWholeSeconds(ms),
    "whole seconds >= 1s",
    (d, ms) => void (d.progressDeadlineMs = ms),
  ),
};

/**
 * Reads all maps over `base` (what a missing key means). Unknown keys, and the `_example` block
 * that stock maps carry, are left alone.
 */
export function readClusterDefaults(
  maps: ConfigMaps,
  base: ClusterDefaults,
  lastGood: ClusterDefaults = base,
): DefaultsResult {
  const draft: Draft = { ...base };
  const errors = [
    ...applyMap("config-autoscaler", AUTOSCALER, maps.autoscaler, draft),
    ...applyMap("config-defaults", DEFAULTS, maps.defaults, draft),
    ...applyMap("config-deployment", DEPLOYMENT, maps.deployment, draft),
    ...disagreements(draft),
  ];
  return errors.length > 0
    ? { defaults: lastGood, errors }
    : { defaults: Object.freeze(draft), errors };
}

function applyMap(
  name: string,
  table: Readonly<Record<string, Apply>>,
  data: Readonly<Record<string, string>> | undefined,
  draft: Draft,
): string[] {
  const errors: string[] = [];
  for (const [key, text] of Object.entries(data ?? {})) {
    const fault = Object.hasOwn(table, key) ? table[key]?.(text, draft) : null;
    if (typeof fault === "string") errors.push(`invalid value: ${text}: ${name} ${key}\n${fault}`);
  }
  return errors;
}

/** Rules over several keys, with the stock wording where stock has one. */
function disagreements(draft: Draft): string[] {
  const errors: string[] = [];
  if (draft.maxScale > 0 && draft.minScale > draft.maxScale) {
    errors.push(
      `min-scale=${draft.minScale} is above max-scale=${draft.maxScale}: config-autoscaler`,
    );
  }
  if (draft.maxScaleLimit > 0 && (draft.maxScale < 1 || draft.maxScale > draft.maxScaleLimit)) {
    errors.push(
      `expected 1 <= ${draft.maxScale} <= ${draft.maxScaleLimit}: config-autoscaler max-scale`,
    );
  }
  if (draft.initialScale === 0 && !draft.allowZeroInitialScale) {
    errors.push("initial-scale 0 needs allow-zero-initial-scale: config-autoscaler");
  }
  if (draft.containerConcurrencyTarget * draft.targetUtilization < 0.01) {
    errors.push(
      "container-concurrency-target-default x percentage is below 0.01: config-autoscaler",
    );
  }
  if (draft.timeoutSeconds > draft.timeoutLimitSeconds) {
    errors.push(
      `expected 1 <= ${draft.timeoutSeconds} <= ${draft.timeoutLimitSeconds}: config-defaults revision-timeout-seconds`,
    );
  }
  return errors;
}
