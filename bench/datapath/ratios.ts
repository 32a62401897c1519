/** Ratios of rounds as rows of a report: the median, with the smallest and the largest round. */
import type { ReportBuilder } from "../../foundation/report.ts";

export type Bars = readonly [must: string, goal: string];

interface RatioRow {
  readonly id: string;
  readonly peer: string;
  readonly bars: Bars;
  readonly ratios: readonly number[];
}

export function addRatio(report: ReportBuilder, row: RatioRow): void {
  const { id, peer, ratios: values } = row;
  const [must, goal] = row.bars;
  const ratio = median(values);
  if (!Number.isFinite(ratio)) {
    report.row({ id, value: null, unit: "ratio", must, goal, why: `${peer} was not measured` });
    return;
  }
  const spread = [Math.min(...values), Math.max(...values)] as const;
  report.row({
    id,
    value: ratio,
    unit: "ratio",
    n: values.length,
    peer,
    ratio,
    spread,
    must,
    goal,
  });
}

/** Of several series the one with the largest median: it decides. */
export function worst(spreads: readonly (readonly number[])[]): readonly number[] {
  return spreads.toSorted((one, other) => median(other) - median(one))[0] ?? [];
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
