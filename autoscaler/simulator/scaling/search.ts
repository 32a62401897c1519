/**
 * The search for settings on one trace: every combination of a few values first, then steps from
 * the best one along each knob. No dice, so the same trace gives the same answer.
 */
import { ownKey, stockKey } from "../../../common/contracts/annotations.ts";
import type { ScalingAlgorithm } from "../../../common/contracts/annotations.ts";
import type { ScalingResult } from "./types.ts";

export type Annotations = Readonly<Record<string, string>>;

/** One annotation and the values that the search may give it, in order of size. */
export interface Knob {
  readonly key: string;
  readonly values: readonly string[];
  /** The part of them that is tried in every combination. */
  readonly coarse: readonly string[];
}

export interface Candidate {
  readonly annotations: Annotations;
  readonly result: ScalingResult;
}

export interface SearchOptions {
  readonly knobs: readonly Knob[];
  readonly evaluate: (annotations: Annotations) => ScalingResult;
  /** Less is better; must not be NaN. */
  readonly score: (result: ScalingResult) => number;
  /** Tried before on the same trace: the starting points, in place of the combinations. */
  readonly known?: readonly Candidate[];
}

export interface SearchOutcome {
  readonly best: Candidate;
  /** Everything that was tried, in order. */
  readonly tried: readonly Candidate[];
}

const WINDOW: Knob = {
  key: stockKey("window"),
  values: ["6s", "10s", "15s", "20s", "30s", "45s", "60s", "90s", "120s"],
  coarse: ["6s", "30s", "60s"],
};
const UTILIZATION: Knob = {
  key: stockKey("target-utilization-percentage"),
  values: ["50", "60", "70", "75", "80", "85", "90", "95", "100"],
  coarse: ["70", "100"],
};
const DELAYS = ["0s", "10s", "20s", "30s", "45s", "60s", "90s", "120s", "150s", "180s", "240s"];
const PANIC_THRESHOLD: Knob = {
  key: stockKey("panic-threshold-percentage"),
  values: ["110", "200", "400", "1000"],
  coarse: ["200"],
};

/** The same range of delays for both; each has what it alone understands beside that. */
export const KNOBS: Readonly<Record<ScalingAlgorithm, readonly Knob[]>> = {
  kpa: [
    WINDOW,
    UTILIZATION,
    {
      key: stockKey("scale-down-delay"),
      values: [...DELAYS, "300s", "600s"],
      coarse: ["0s", "30s", "60s", "120s", "300s"],
    },
    PANIC_THRESHOLD,
    {
      key: stockKey("panic-window-percentage"),
      values: ["5", "10", "20", "50"],
      coarse: ["10"],
    },
    {
      key: stockKey("scale-to-zero-pod-retention-period"),
      values: ["0s", "30s", "60s", "120s", "300s", "600s"],
      coarse: ["0s", "120s"],
    },
  ],
  pilot: [
    WINDOW,
    UTILIZATION,
    {
      key: ownKey("cooldown"),
      values: [...DELAYS, "300s", "600s"],
      coarse: ["0s", "30s", "60s", "120s", "300s"],
    },
    PANIC_THRESHOLD,
    {
      key: ownKey("scale-up-delay"),
      values: ["0s", "1s", "2s", "5s", "10s", "20s", "60s"],
      coarse: ["1s", "5s"],
    },
    {
      key: ownKey("scaling-buffer"),
      values: ["0", "1", "2", "10%", "25%", "50%"],
      coarse: ["0", "1"],
    },
    {
      key: stockKey("scale-to-zero-pod-retention-period"),
      values: ["0s", "30s", "60s", "120s", "300s", "600s"],
      coarse: ["0s"],
    },
  ],
};

/** The best few combinations are climbed from: one alone ends too often on a small hill. */
const STARTS = 3;

export function searchSettings(options: SearchOptions): SearchOutcome {
  const tried = new Map<string, Candidate>(
    options.known?.map((candidate) => [JSON.stringify(candidate.annotations), candidate]),
  );
  const at = (annotations: Annotations): Candidate => {
    const name = JSON.stringify(annotations);
    const known = tried.get(name);
    if (known !== undefined) return known;
    const candidate = { annotations, result: options.evaluate(annotations) };
    tried.set(name, candidate);
    return candidate;
  };
  const byScore = (left: Candidate, right: Candidate): number =>
    options.score(left.result) - options.score(right.result);

  const coarse = options.known === undefined ? combinations(options.knobs).map(at) : [];
  const starts = [...(options.known ?? coarse)].toSorted(byScore).slice(0, STARTS);
  const summits = starts.map((start) =>
    climb(
      start,
      (annotations) => {
        const around = neighbours(annotations, options.knobs).map(at);
        return around.toSorted(byScore)[0];
      },
      options.score,
    ),
  );
  const [best] = summits.toSorted(byScore);
  if (best === undefined) throw new TypeError("A search needs at least one combination");
  return { best, tried: [...tried.values()] };
}

/** Steps on while the best neighbour is better. */
function climb(
  start: Candidate,
  bestAround: (annotations: Annotations) => Candidate | undefined,
  score: (result: ScalingResult) => number,
): Candidate {
  let best = start;
  for (;;) {
    const next = bestAround(best.annotations);
    if (next === undefined || score(next.result) >= score(best.result)) return best;
    best = next;
  }
}

function combinations(knobs: readonly Knob[]): Annotations[] {
  return knobs.reduce<Annotations[]>(
    (all, { key, coarse }) =>
      all.flatMap((annotations) => coarse.map((value) => ({ ...annotations, [key]: value }))),
    [{}],
  );
}

/** One knob moved by one step or two; two, so that a single flat step ends nothing. */
function neighbours(annotations: Annotations, knobs: readonly Knob[]): Annotations[] {
  return knobs.flatMap(({ key, values }) => {
    const index = values.indexOf(annotations[key] ?? "");
    return [-2, -1, 1, 2].flatMap((step) => {
      const value = values[index + step];
      return value === undefined ? [] : [{ ...annotations, [key]: value }];
    });
  });
}

/** What nothing beats in both waiting and pod time, cheapest first. */
export function frontier(
  tried: readonly Candidate[],
  waitOf: (result: ScalingResult) => number,
): readonly Candidate[] {
  const cheapestFirst = tried.toSorted(
    (left, right) =>
      left.result.podSeconds.total - right.result.podSeconds.total ||
      waitOf(left.result) - waitOf(right.result),
  );
  const kept: Candidate[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of cheapestFirst) {
    const wait = waitOf(candidate.result);
    if (wait >= least) continue;
    least = wait;
    kept.push(candidate);
  }
  return kept;
}
