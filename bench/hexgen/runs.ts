/** Traces, pools and seeds of the benchmark, and one function that runs and remembers. */
import { readFileSync } from "node:fs";
import type { Scenario, SimulatedPolicy } from "../../autoscaler/simulator/hexgen/scenario.ts";
import { burstyArrivalsUs, seededArrivals } from "../../autoscaler/simulator/hexgen/scenario.ts";
import { createRandom } from "../../common/random.ts";
import { select, withSingleCalls } from "../../autoscaler/simulator/hexgen/mixing.ts";
import { simulate } from "../../autoscaler/simulator/hexgen/simulate.ts";
import type { Summary } from "../../autoscaler/simulator/hexgen/summary.ts";
import { summarize } from "../../autoscaler/simulator/hexgen/summary.ts";
import {
  BENCHMARK_POOL,
  createPool,
  TEXT2SQL,
} from "../../autoscaler/simulator/hexgen/text2sql.ts";
import type { TracedWorkflow } from "../../autoscaler/simulator/hexgen/workload.ts";
import { parseTrace } from "../../autoscaler/simulator/hexgen/workload.ts";

/** Traces 1 to 3 decide; the natural mix is reported beside them. */
export const JUDGED_TRACES = ["trace1", "trace2", "trace3"] as const;
export const ALL_TRACES = [...JUDGED_TRACES, "natural"] as const;
export type TraceName = (typeof ALL_TRACES)[number];

export const GATE_SEEDS = 30;
export const TABLE_SEEDS = 10;

export const ROUND_ROBIN: SimulatedPolicy = { dispatch: "rr", alpha: 0, order: "fifo" };
export const PAPER: SimulatedPolicy = { dispatch: "wb", alpha: 0.3, order: "pq" };
/** The published rule with the platform's order: what the platform did before `batch`. */
export const WORK_BALANCE: SimulatedPolicy = { dispatch: "wb", alpha: 0.3, order: "urgency" };
/** The one configuration that all gates judge. */
export const PLATFORM: SimulatedPolicy = {
  dispatch: "batch",
  alpha: 0.3,
  order: "urgency",
  admission: "backfill",
};

export interface Setting {
  readonly ratePerS: number;
  /** Objectives as multiples of the base, drawn per workflow when there are several. */
  readonly sloScales: readonly number[];
  readonly reuse?: Scenario["prefixReuse"];
  readonly batchSlope?: number;
  readonly pool?: readonly string[];
  /** Coefficient of variation of the gaps; absent: Poisson. */
  readonly burstiness?: number;
  /** Rate of one-stage chat calls that share the pool; they do not count in the figures. */
  readonly chatPerS?: number;
  readonly realism?: Omit<NonNullable<Scenario["realism"]>, "seed">;
}

const traces = new Map<TraceName, readonly TracedWorkflow[]>();

export function traceOf(name: TraceName): readonly TracedWorkflow[] {
  const known = traces.get(name);
  if (known !== undefined) return known;
  const file = new URL(`../../test/fixtures/text2sql/synth-${name}.csv`, import.meta.url);
  const trace = parseTrace(readFileSync(file, "utf8"));
  traces.set(name, trace);
  return trace;
}

const remembered = new Map<string, readonly Summary[]>();

/** One summary per seed, 1 to `seeds`. */
export function runSeeds(
  trace: TraceName,
  policy: SimulatedPolicy,
  setting: Setting,
  seeds: number,
): readonly Summary[] {
  const key = JSON.stringify([trace, policy, setting, seeds]);
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const summaries = Array.from({ length: seeds }, (_, index) =>
    runOnce(trace, policy, setting, index + 1),
  );
  remembered.set(key, summaries);
  return summaries;
}

function runOnce(
  trace: TraceName,
  policy: SimulatedPolicy,
  setting: Setting,
  seed: number,
): Summary {
  const scenario = createScenario(trace, policy, setting, seed);
  if (setting.chatPerS === undefined) return summarize(simulate(scenario));
  const calls = { ...CHAT, ratePerS: setting.chatPerS };
  const mixed = withSingleCalls(scenario, calls, createRandom(seed + CHAT_SEED));
  const result = simulate(mixed.scenario);
  return summarize(select(result, (index) => mixed.isTraced[index] ?? false));
}

/** Chat calls that go on for longer than any run of a trace takes. */
const CHAT = { stage: "chat", inputTokens: 900, outputTokens: 220, untilUs: 2e9, sloScale: 1 };
const CHAT_SEED = 1_000;

export function createScenario(
  trace: TraceName,
  policy: SimulatedPolicy,
  setting: Setting,
  seed: number,
): Scenario {
  const workflows = traceOf(trace);
  const { ratePerS, sloScales, realism, burstiness } = setting;
  const arrivals = seededArrivals(seed, ratePerS, workflows.length, sloScales);
  return {
    workflowClass: TEXT2SQL,
    workflows,
    pool: createPool(setting.pool ?? BENCHMARK_POOL, setting.batchSlope ?? 0),
    policy,
    prefixReuse: setting.reuse ?? "off",
    ...arrivals,
    ...(burstiness === undefined
      ? {}
      : { arrivalsUs: burstyArrivalsUs(seed, ratePerS, workflows.length, burstiness) }),
    ...(realism === undefined ? {} : { realism: { ...realism, seed } }),
  };
}

/** Mean of one figure over the seeds. */
export function meanOf(
  summaries: readonly Summary[],
  figure: (summary: Summary) => number,
): number {
  return summaries.reduce((sum, summary) => sum + figure(summary), 0) / summaries.length;
}

export interface Paired {
  readonly mean: number;
  /** Half of the 95 % interval. */
  readonly interval: number;
}

/** Two-sided 95 % quantile of Student's t, by the number of seeds. */
const STUDENT_T: Readonly<Record<number, number>> = { [TABLE_SEEDS]: 2.262, [GATE_SEEDS]: 2.045 };

/** Mean and interval of a figure that compares two runs of the same seed. */
export function paired(
  left: readonly Summary[],
  right: readonly Summary[],
  compare: (left: Summary, right: Summary) => number,
): Paired {
  const values = left.flatMap((summary, index) => {
    const other = right[index];
    return other === undefined ? [] : [compare(summary, other)];
  });
  return intervalOf(values);
}

export function intervalOf(values: readonly number[]): Paired {
  const quantile = STUDENT_T[values.length];
  if (quantile === undefined) throw new RangeError(`no quantile for ${values.length} seeds`);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (values.length - 1));
  return { mean, interval: (quantile * deviation) / Math.sqrt(values.length) };
}
