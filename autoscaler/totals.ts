/** Counters of the controller since its start, read by the view and the metrics page. */
import type { DecisionRecord, Trigger } from "./decision-log.ts";

export interface ScalingTotals {
  readonly decisions: number;
  readonly scaleUps: number;
  readonly scaleDowns: number;
  readonly fromZero: number;
  readonly byTrigger: Readonly<Record<Trigger, number>>;
  /** From the start of the last tick to the end of its last reconcile, ms. */
  readonly tickMs: number;
}

export interface TotalsKeeper {
  decided(record: DecisionRecord): void;
  tickTook(durationMs: number): void;
  read(): ScalingTotals;
}

export function createScalingTotals(): TotalsKeeper {
  const byTrigger = { tick: 0, wake: 0, pods: 0, object: 0, ageing: 0, resync: 0 };
  const totals = { decisions: 0, scaleUps: 0, scaleDowns: 0, fromZero: 0, tickMs: 0 };
  return {
    decided: ({ from, to, trigger }) => {
      totals.decisions += 1;
      byTrigger[trigger] += 1;
      if (to > from) totals.scaleUps += 1;
      if (to < from) totals.scaleDowns += 1;
      if (from === 0 && to > 0) totals.fromZero += 1;
    },
    tickTook: (durationMs) => void (totals.tickMs = durationMs),
    read: () => ({ ...totals, byTrigger: { ...byTrigger } }),
  };
}

export function joinTotals(all: readonly ScalingTotals[]): ScalingTotals {
  const byTrigger = { ...createScalingTotals().read().byTrigger };
  const sums = { decisions: 0, scaleUps: 0, scaleDowns: 0, fromZero: 0 };
  for (const totals of all) {
    for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += totals[key];
    for (const key of Object.keys(byTrigger) as Trigger[]) byTrigger[key] += totals.byTrigger[key];
  }
  return { ...sums, byTrigger, tickMs: Math.max(0, ...all.map(({ tickMs }) => tickMs)) };
}
