/** The plots of `bench:scaling`: what waiting costs on each trace, and pods over time on one. */
import { frontier } from "../../autoscaler/simulator/scaling/search.ts";
import type { ScalingResult } from "../../autoscaler/simulator/scaling/types.ts";
import { barChart, lineChart } from "../hexgen/svg.ts";
import type { Duel } from "./best.ts";
import type { ReplayedTick } from "./live.ts";

const SPAN_MS = 600_000;
const STEP_MS = 2_000;

export function ratioPlot(duels: readonly Duel[]): string {
  return barChart({
    title: "Ours against kpa, each at its best settings",
    yLabel: "ratio, less is better",
    groups: duels.map(({ trace }) => trace),
    bars: [
      { name: "waiting p95", values: duels.map(({ waitRatio }) => waitRatio) },
      { name: "GPU time", values: duels.map(({ gpuRatio }) => gpuRatio) },
    ],
    mark: { name: "kpa", value: 1 },
  });
}

export function frontierPlot({ trace, tried }: Duel): string {
  const points = (algorithm: "pilot" | "kpa"): (readonly [number, number])[] =>
    frontier(tried[algorithm], ({ waitMs }) => waitMs.p95).map(
      ({ result }) => [result.podSeconds.total / 3_600, result.waitMs.p95 / 1_000] as const,
    );
  return lineChart({
    title: `What waiting costs: ${trace}`,
    xLabel: "GPU hours",
    yLabel: "waiting p95, s",
    series: [
      { name: "ours", points: points("pilot") },
      { name: "kpa", points: points("kpa") },
    ],
  });
}

export function podsPlot({ trace, equal }: Duel): string {
  return lineChart({
    title: `Pods wanted at equal settings: ${trace}`,
    xLabel: "minutes",
    yLabel: "pods",
    series: [
      { name: "ours", points: steps(equal.pilot.scale) },
      { name: "kpa", points: steps(equal.kpa.scale) },
    ],
  });
}

export function replayPlot(ticks: readonly ReplayedTick[]): string {
  return lineChart({
    title: "A recorded live run and its replay",
    xLabel: "seconds",
    yLabel: "pods wanted after each tick",
    series: [
      { name: "live", points: ticks.map(({ atMs, live }) => [atMs / 1_000, live] as const) },
      {
        name: "simulated",
        points: ticks.map(({ atMs, simulated }) => [atMs / 1_000, simulated] as const),
      },
    ],
  });
}

function steps(scale: ScalingResult["scale"]): (readonly [number, number])[] {
  const points: (readonly [number, number])[] = [];
  for (let atMs = 0; atMs <= SPAN_MS; atMs += STEP_MS) {
    const pods = scale.findLast(([changedMs]) => changedMs <= atMs)?.[1] ?? 0;
    points.push([atMs / 60_000, pods]);
  }
  return points;
}
