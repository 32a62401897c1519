/** The settings that meet a target for waiting at the least GPU time, and what other targets cost. */
import { ownKey } from "../../../common/contracts/annotations.ts";
import type { ScalingAlgorithm } from "../../../common/contracts/annotations.ts";
import { PlatformError } from "../../../common/errors.ts";
import { PLATFORM_DEFAULTS } from "../../core/settings/defaults.ts";
import type { ClusterDefaults } from "../../core/settings/defaults.ts";
import { readSettings } from "../../core/settings/settings.ts";
import { frontier, KNOBS, searchSettings } from "./search.ts";
import type { Annotations, Candidate, Knob } from "./search.ts";
import { simulateScaling } from "./simulate.ts";
import type { Arrival, ScalingResult } from "./types.ts";
import type { WaitTarget } from "./words.ts";

export interface Workload {
  readonly arrivals: readonly Arrival[];
  readonly startTimesMs: readonly number[];
  readonly containerConcurrency: number;
  /** What the service says already; the search changes only its knobs. */
  readonly annotations: Annotations;
  readonly seed: number;
  readonly defaults: ClusterDefaults;
}

export interface Plan {
  readonly meets: boolean;
  readonly best: Candidate;
  /** What to write: the knobs whose value is not what holds without them. */
  readonly annotations: Annotations;
  readonly frontier: readonly Candidate[];
  readonly tried: number;
  /** The stock algorithm at its own best for the same target. */
  readonly stock: Candidate;
  readonly stockMeets: boolean;
  readonly stockFrontier: readonly Candidate[];
}

/** What a knob is when nobody sets it, so that a plan says only what it changes. */
const UNSET: Readonly<Record<string, string>> = {
  window: "30s",
  "target-utilization-percentage": "100",
  cooldown: "10s",
  "panic-threshold-percentage": "200",
  "scale-up-delay": "1s",
  "scaling-buffer": "0",
  "scale-to-zero-pod-retention-period": "0s",
};
const AFTER_LAST_MS = 600_000;
/** Above any GPU time: what misses the target comes after everything that meets it. */
const MISSED = 1e12;

/**
 * `onTry` hears of each simulated setting, so that a caller can show how far the search is.
 *
 * @throws PlatformError ERR_USAGE when the workload's own annotations are not valid.
 */
export function planSettings(
  workload: Workload,
  target: WaitTarget,
  onTry: (algorithm: ScalingAlgorithm) => void = () => {},
): Plan {
  const waitOf = ({ waitMs }: ScalingResult): number => waitMs[target.quantile];
  const meets = (result: ScalingResult): boolean =>
    waitOf(result) <= target.limitMs && result.unserved === 0;
  const search = (algorithm: ScalingAlgorithm): ReturnType<typeof searchSettings> =>
    searchSettings({
      knobs: KNOBS[algorithm],
      evaluate: (annotations) => {
        onTry(algorithm);
        return runWorkload(workload, { ...annotations, [ownKey("algorithm")]: algorithm });
      },
      score: (result) =>
        meets(result)
          ? result.podSeconds.total
          : MISSED + result.unserved * MISSED + waitOf(result),
    });
  const ours = search("pilot");
  const stock = search("kpa");
  return {
    meets: meets(ours.best.result),
    best: ours.best,
    annotations: changedOnly(ours.best.annotations, workload.annotations),
    frontier: frontier(ours.tried, waitOf),
    tried: ours.tried.length,
    stock: stock.best,
    stockMeets: meets(stock.best.result),
    stockFrontier: frontier(stock.tried, waitOf),
  };
}

export function runWorkload(workload: Workload, annotations: Annotations): ScalingResult {
  const { arrivals, startTimesMs, seed, defaults, containerConcurrency } = workload;
  const { settings, errors } = readSettings(
    {
      annotations: { ...workload.annotations, ...annotations },
      containerConcurrency,
      requestsGpu: true,
    },
    defaults,
  );
  if (errors.length > 0) throw new PlatformError("ERR_USAGE", errors.join("\n"));
  const horizonMs = (arrivals.at(-1)?.atMs ?? 0) + AFTER_LAST_MS;
  return simulateScaling({ settings, defaults, arrivals, startTimesMs, seed, horizonMs });
}

/** Cluster defaults for `simulate` and `plan`: as installed, and zero as a first scale is no fault. */
export const SIMULATED_DEFAULTS: ClusterDefaults = Object.freeze({
  ...PLATFORM_DEFAULTS,
  allowZeroInitialScale: true,
});

/** Of chosen knobs those whose value is not what holds without them: in `present`, or by default. */
export function changedOnly(chosen: Annotations, present: Annotations = {}): Annotations {
  const isNews = ({ key }: Knob): boolean =>
    chosen[key] !== (present[key] ?? UNSET[key.slice(key.indexOf("/") + 1)]);
  return Object.fromEntries(KNOBS.pilot.filter(isNews).map(({ key }) => [key, chosen[key] ?? ""]));
}
