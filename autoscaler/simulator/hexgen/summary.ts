/** What a simulation is judged by: percentiles, throughput and kept objectives. */
import type { SimulationResult } from "./simulate.ts";

export interface Summary {
  readonly p50S: number;
  readonly p95S: number;
  readonly meanS: number;
  readonly maxS: number;
  /** Workflows per second, from the first arrival to the last end. */
  readonly throughputPerS: number;
  /** Share of workflows within their objective, 0 to 1. */
  readonly attainment: number;
  /** The same over the workflows with the tightest objective. */
  readonly tightestAttainment: number;
  /** Workflows within their objective, per second. */
  readonly goodputPerS: number;
  /** 95th percentile of latency over objective. */
  readonly p95OverSlo: number;
}

/** The element of a sorted list at a percentile, by whole-number arithmetic. */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  const index = Math.floor((percent * sorted.length) / 100);
  return sorted[Math.min(index, sorted.length - 1)] ?? Number.NaN;
}

export function summarize(result: SimulationResult): Summary {
  const { arrivalsUs, latenciesUs, slosUs, sloScales } = result;
  const count = latenciesUs.length;
  const sorted = latenciesUs.toSorted();
  const relative = latenciesUs.map((latency, index) => latency / (slosUs[index] ?? 1)).toSorted();
  const firstArrivalUs = arrivalsUs.reduce((least, each) => Math.min(least, each), Infinity);
  const lastEndUs = latenciesUs.reduce(
    (most, latency, index) => Math.max(most, latency + (arrivalsUs[index] ?? 0)),
    0,
  );
  const spanS = (lastEndUs - firstArrivalUs) / 1e6;
  const tightest = Math.min(...sloScales);
  let kept = 0;
  let tight = 0;
  let keptTight = 0;
  for (let index = 0; index < count; index += 1) {
    const isKept = (latenciesUs[index] ?? 0) <= (slosUs[index] ?? 0);
    if (isKept) kept += 1;
    if (sloScales[index] !== tightest) continue;
    tight += 1;
    if (isKept) keptTight += 1;
  }
  return {
    p50S: percentile(sorted, 50) / 1e6,
    p95S: percentile(sorted, 95) / 1e6,
    meanS: sorted.reduce((sum, latency) => sum + latency, 0) / count / 1e6,
    maxS: (sorted[count - 1] ?? Number.NaN) / 1e6,
    throughputPerS: count / spanS,
    attainment: kept / count,
    tightestAttainment: keptTight / tight,
    goodputPerS: kept / spanS,
    p95OverSlo: percentile(relative, 95),
  };
}
