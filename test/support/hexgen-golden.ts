/**
 * The golden runs of the simulator (`end_to_end` of the vectors): what was given, and what this
 * simulator makes of the same scenario. For the tests, to every digit, and for the benchmark's gate.
 */
import { readFileSync } from "node:fs";
import type {
  DispatchRule,
  Scenario,
  SimulatedPolicy,
} from "../../autoscaler/simulator/hexgen/scenario.ts";
import { recordedArrivals, seededArrivals } from "../../autoscaler/simulator/hexgen/scenario.ts";
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
import { parseQueueOrder } from "../../common/urgency.ts";

/** One figure of a run: as given, to how many decimals, and which figure of ours it is. */
interface GivenFigure {
  readonly value: number;
  readonly digits: number;
  readonly of: (summary: Summary) => number;
}

export interface GoldenRun {
  readonly name: string;
  readonly given: readonly GivenFigure[];
  readonly scenario: Scenario;
}

interface PublishedRun {
  readonly trace: string;
  readonly rate: number;
  readonly dispatch: DispatchRule;
  readonly queue: string;
  readonly alpha: number;
  readonly p50: number;
  readonly p95: number;
  readonly mean: number;
  readonly thr: number;
}
interface PlatformRun extends PublishedRun {
  readonly seed: number;
  readonly slo_scales: number[];
  readonly prefix_reuse: boolean;
  readonly kappa: number;
  readonly attainment: number;
}
interface TinyRun {
  readonly pool: string[];
  readonly arrivals_s: number[];
  readonly workflows: [string, number, number][][][];
  readonly expect: { mean_s: number; max_s: number };
}
interface Vectors {
  readonly end_to_end: {
    readonly runs: PublishedRun[];
    readonly platform: { readonly runs: PlatformRun[] };
    readonly tiny: TinyRun;
  };
}

/** All of them: the published orders, the platform's order, and the one computed by hand. */
export function goldenRuns(): GoldenRun[] {
  const { runs, platform, tiny } = (JSON.parse(fixture("hexgen-golden.json")) as Vectors)
    .end_to_end;
  return [...runs.map(publishedRun), ...platform.runs.map(platformRun), tinyRun(tiny)];
}

export function summaryOf({ scenario }: GoldenRun): Summary {
  return summarize(simulate(scenario));
}

/** Largest relative difference to a given figure, over all runs; 0 where all agree to the digits given. */
export function goldenDeviation(runs: readonly GoldenRun[] = goldenRuns()): number {
  const deviations = runs.flatMap((run) => {
    const summary = summaryOf(run);
    return run.given.map(({ value, digits, of }) => {
      const found = Number(of(summary).toFixed(digits));
      return found === value ? 0 : Math.abs(found - value) / Math.abs(value);
    });
  });
  return Math.max(...deviations);
}

function publishedRun(run: PublishedRun): GoldenRun {
  const workflows = traceOf(run.trace);
  return {
    name: `${run.trace} at ${run.rate}/s, ${run.dispatch} and ${run.queue}, alpha ${run.alpha}`,
    given: figuresOf(run),
    scenario: {
      workflowClass: TEXT2SQL,
      workflows,
      pool: createPool(BENCHMARK_POOL),
      policy: policyOf(run),
      prefixReuse: "off",
      ...recordedArrivals(workflows, run.rate, 1),
    },
  };
}

function platformRun(run: PlatformRun): GoldenRun {
  const workflows = traceOf(run.trace);
  const { seed, rate, slo_scales: scales, prefix_reuse: isReused } = run;
  return {
    name: `${run.trace} at ${rate}/s, the platform's order, seed ${seed}, objectives ${scales.join()}, reuse ${isReused}`,
    given: [
      ...figuresOf(run),
      { value: run.attainment, digits: 5, of: ({ attainment }) => attainment },
    ],
    scenario: {
      workflowClass: TEXT2SQL,
      workflows,
      pool: createPool(BENCHMARK_POOL, run.kappa),
      policy: policyOf(run),
      prefixReuse: isReused ? "unbounded" : "off",
      ...seededArrivals(seed, rate, workflows.length, scales),
    },
  };
}

function tinyRun(tiny: TinyRun): GoldenRun {
  const workflows = tiny.workflows.map((stages, index) => ({
    arrivalUnits: tiny.arrivals_s[index] ?? 0,
    stages: stages.map((calls) => ({
      stage: calls[0]?.[0] ?? "",
      calls: calls.map(([, inputTokens, outputTokens]) => ({ inputTokens, outputTokens })),
    })),
  }));
  return {
    name: "two workflows on one card, computed by hand",
    given: [
      { value: tiny.expect.mean_s, digits: 6, of: ({ meanS }) => meanS },
      { value: tiny.expect.max_s, digits: 6, of: ({ maxS }) => maxS },
    ],
    scenario: {
      workflowClass: TEXT2SQL,
      workflows,
      pool: createPool(tiny.pool),
      policy: { dispatch: "rr", alpha: 0, order: "fifo" },
      prefixReuse: "off",
      ...recordedArrivals(workflows, 1, 1),
    },
  };
}

function figuresOf({ p50, p95, mean, thr }: PublishedRun): GivenFigure[] {
  return [
    { value: p50, digits: 3, of: ({ p50S }) => p50S },
    { value: p95, digits: 3, of: ({ p95S }) => p95S },
    { value: mean, digits: 3, of: ({ meanS }) => meanS },
    { value: thr, digits: 6, of: ({ throughputPerS }) => throughputPerS },
  ];
}

function policyOf(run: PublishedRun): SimulatedPolicy {
  const order = parseQueueOrder(run.queue);
  if (order === undefined) throw new Error(`unknown order ${run.queue}`);
  return { dispatch: run.dispatch, alpha: run.alpha, order };
}

const traces = new Map<string, TracedWorkflow[]>();

function traceOf(name: string): TracedWorkflow[] {
  const known = traces.get(name) ?? parseTrace(fixture(`text2sql/${name}.csv`));
  traces.set(name, known);
  return known;
}

function fixture(path: string): string {
  return readFileSync(new URL(`../fixtures/${path}`, import.meta.url), "utf8");
}
