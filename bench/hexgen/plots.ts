/** The three pictures of the benchmark. */
import { simulate } from "../../autoscaler/simulator/hexgen/simulate.ts";
import type { SimulatedPolicy } from "../../autoscaler/simulator/hexgen/scenario.ts";
import type { AlphaPrediction } from "../../common/hexgen/alpha.ts";
import type { GateFigure } from "./gates.ts";
import {
  createScenario,
  JUDGED_TRACES,
  PAPER,
  PLATFORM,
  ROUND_ROBIN,
  WORK_BALANCE,
} from "./runs.ts";
import { barChart, lineChart } from "./svg.ts";

const POLICIES: readonly { readonly name: string; readonly policy: SimulatedPolicy }[] = [
  { name: "round robin, FCFS", policy: ROUND_ROBIN },
  { name: "paper: WB, PQ", policy: PAPER },
  { name: "WB, urgency", policy: WORK_BALANCE },
  { name: "platform", policy: PLATFORM },
];

/** Share of workflows answered over time, trace 3, seed 1. */
export function latencyPlot(): string {
  const setting = { ratePerS: 0.5, sloScales: [15] };
  const series = POLICIES.map(({ name, policy }) => {
    const { latenciesUs } = simulate(createScenario("trace3", policy, setting, 1));
    const sorted = latenciesUs.toSorted();
    const points = Array.from(
      sorted,
      (latency, index) => [latency / 1e6, (index + 1) / sorted.length] as const,
    );
    return { name, points };
  });
  return lineChart({
    title: "Latency of workflows at 0.5/s, trace 3, seed 1",
    xLabel: "latency in s",
    yLabel: "share of workflows answered",
    series,
  });
}

/** What the platform gains over round robin, per trace. */
export function gainPlot(figures: readonly GateFigure[]): string {
  const valuesOf = (gate: string, part: string): number[] =>
    JUDGED_TRACES.map(
      (trace) =>
        figures.find((each) => each.gate === gate && each.part === part && each.trace === trace)
          ?.mean ?? 0,
    );
  return barChart({
    title: "Gain over round robin at 0.5/s, mean of 30 seeds",
    yLabel: "ratio",
    groups: [...JUDGED_TRACES],
    bars: [
      {
        name: "P95, paper",
        values: valuesOf("G1", "paper's policy: P95 lower than round robin by"),
      },
      { name: "P95, platform", values: valuesOf("G2", "P95 lower than round robin by") },
      {
        name: "throughput, paper",
        values: valuesOf("G1", "paper's policy: throughput over round robin"),
      },
      { name: "throughput, platform", values: valuesOf("G2", "throughput over round robin") },
    ],
    mark: { name: "goal, throughput", value: 1.81 },
  });
}

/** Predicted tail over alpha, as the tuner saw it. */
export function alphaPlot(predictions: readonly AlphaPrediction[]): string {
  const points = predictions
    .toSorted((left, right) => left.alpha - right.alpha)
    .map(({ alpha, tail }) => [alpha, tail] as const);
  return lineChart({
    title: "Predicted tail over alpha, work balance, trace 3 at 0.5/s",
    xLabel: "alpha",
    yLabel: "P95 of latency over objective",
    series: [{ name: "mean of 5 draws", points }],
  });
}
