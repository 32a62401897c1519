/** The simulator against the golden runs: every figure to the digits given, not only within 2 %. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseQueueOrder } from "../../../common/urgency.ts";
import type {
  DispatchRule,
  SimulatedPolicy,
} from "../../../autoscaler/simulator/hexgen/scenario.ts";
import { recordedArrivals, seededArrivals } from "../../../autoscaler/simulator/hexgen/scenario.ts";
import { simulate } from "../../../autoscaler/simulator/hexgen/simulate.ts";
import { summarize } from "../../../autoscaler/simulator/hexgen/summary.ts";
import {
  BENCHMARK_POOL,
  createPool,
  TEXT2SQL,
} from "../../../autoscaler/simulator/hexgen/text2sql.ts";
import { parseTrace } from "../../../autoscaler/simulator/hexgen/workload.ts";

const fixture = (path: string): string =>
  readFileSync(new URL(`../../fixtures/${path}`, import.meta.url), "utf8");

interface GoldenRun {
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
interface PlatformRun extends GoldenRun {
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
const golden = JSON.parse(fixture("hexgen-golden.json")) as {
  end_to_end: { runs: GoldenRun[]; platform: { runs: PlatformRun[] }; tiny: TinyRun };
};

const traces = new Map(
  ["synth-trace1", "synth-trace2", "synth-trace3"].map((name) => [
    name,
    parseTrace(fixture(`text2sql/${name}.csv`)),
  ]),
);

function policyOf(run: GoldenRun): SimulatedPolicy {
  const order = parseQueueOrder(run.queue);
  if (order === undefined) throw new Error(`unknown order ${run.queue}`);
  return { dispatch: run.dispatch, alpha: run.alpha, order };
}

const round = (value: number, digits: number): number => Number(value.toFixed(digits));

describe("golden runs of the simulator", () => {
  it.each(golden.end_to_end.runs)("$trace at $rate/s, $dispatch and $queue", (run) => {
    const workflows = traces.get(run.trace) ?? [];
    const result = simulate({
      workflowClass: TEXT2SQL,
      workflows,
      pool: createPool(BENCHMARK_POOL),
      policy: policyOf(run),
      prefixReuse: "off",
      ...recordedArrivals(workflows, run.rate, 1),
    });
    const { p50S, p95S, meanS, throughputPerS } = summarize(result);
    expect([round(p50S, 3), round(p95S, 3), round(meanS, 3), round(throughputPerS, 6)]).toEqual([
      run.p50,
      run.p95,
      run.mean,
      run.thr,
    ]);
  });

  it.each(golden.end_to_end.platform.runs)(
    "$trace with the platform's order, seed $seed, objectives $slo_scales, reuse $prefix_reuse",
    (run) => {
      const workflows = traces.get(run.trace) ?? [];
      const result = simulate({
        workflowClass: TEXT2SQL,
        workflows,
        pool: createPool(BENCHMARK_POOL, run.kappa),
        policy: policyOf(run),
        prefixReuse: run.prefix_reuse ? "unbounded" : "off",
        ...seededArrivals(run.seed, run.rate, workflows.length, run.slo_scales),
      });
      const summary = summarize(result);
      expect({
        p50: round(summary.p50S, 3),
        p95: round(summary.p95S, 3),
        mean: round(summary.meanS, 3),
        thr: round(summary.throughputPerS, 6),
        attainment: round(summary.attainment, 5),
      }).toEqual({
        p50: run.p50,
        p95: run.p95,
        mean: run.mean,
        thr: run.thr,
        attainment: run.attainment,
      });
    },
  );

  it("runs two workflows on one card as computed by hand", () => {
    const { tiny } = golden.end_to_end;
    const workflows = tiny.workflows.map((stages, index) => ({
      arrivalUnits: tiny.arrivals_s[index] ?? 0,
      stages: stages.map((calls) => ({
        stage: calls[0]?.[0] ?? "",
        calls: calls.map(([, inputTokens, outputTokens]) => ({ inputTokens, outputTokens })),
      })),
    }));
    const result = simulate({
      workflowClass: TEXT2SQL,
      workflows,
      pool: createPool(tiny.pool),
      policy: { dispatch: "rr", alpha: 0, order: "fifo" },
      prefixReuse: "off",
      ...recordedArrivals(workflows, 1, 1),
    });
    const { meanS, maxS } = summarize(result);
    expect([round(meanS, 6), round(maxS, 6)]).toEqual([tiny.expect.mean_s, tiny.expect.max_s]);
  });
});
