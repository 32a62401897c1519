/** The tables beside the gates: reproduction, comparison of orders, ablation. */
import type { SimulatedPolicy } from "../../autoscaler/simulator/hexgen/scenario.ts";
import type { Summary } from "../../autoscaler/simulator/hexgen/summary.ts";
import type { Paired, Setting, TraceName } from "./runs.ts";
import {
  intervalOf,
  JUDGED_TRACES,
  meanOf,
  paired,
  PAPER,
  PLATFORM,
  ROUND_ROBIN,
  runSeeds,
  TABLE_SEEDS,
  WORK_BALANCE,
} from "./runs.ts";

export type TableRow = Record<string, string | number>;

const round = (value: number, digits: number): number => Number(value.toFixed(digits));
export const run = (
  trace: TraceName,
  policy: SimulatedPolicy,
  setting: Setting,
): readonly Summary[] => runSeeds(trace, policy, setting, TABLE_SEEDS);
const p50Of = (runs: readonly Summary[]): number =>
  round(
    meanOf(runs, ({ p50S }) => p50S),
    0,
  );
export const p95Of = (runs: readonly Summary[]): number =>
  round(
    meanOf(runs, ({ p95S }) => p95S),
    0,
  );

/** A figure with the half of its 95 % interval. */
export const within = ({ mean, interval }: Paired, digits: number): string =>
  `${mean.toFixed(digits)} +- ${interval.toFixed(digits)}`;

const SWEPT_ALPHAS = [0, 0.1, 0.2, 0.3, 0.4, 0.5];

/** Round robin and work balance, both queues, three rates: the published sweep. */
export function reproductionTable(): TableRow[] {
  return JUDGED_TRACES.flatMap((trace) =>
    [0.1, 0.5, 1].map((ratePerS) => reproductionRow(trace, { ratePerS, sloScales: [1] })),
  );
}

function reproductionRow(trace: TraceName, setting: Setting): TableRow {
  const baseline = run(trace, ROUND_ROBIN, setting);
  const swept = SWEPT_ALPHAS.map((alpha) => ({
    alpha,
    runs: run(trace, { ...PAPER, alpha }, setting),
  }));
  const best = swept.reduce((left, right) =>
    meanOf(right.runs, ({ p95S }) => p95S) < meanOf(left.runs, ({ p95S }) => p95S) ? right : left,
  );
  const tail = paired(baseline, best.runs, (peer, own) => peer.p95S / own.p95S);
  const throughput = paired(
    best.runs,
    baseline,
    (own, peer) => own.throughputPerS / peer.throughputPerS,
  );
  return {
    trace,
    ratePerS: setting.ratePerS,
    seeds: TABLE_SEEDS,
    "RR+FCFS P50": p50Of(baseline),
    "RR+FCFS P95": p95Of(baseline),
    "RR+PQ P95": p95Of(run(trace, { ...ROUND_ROBIN, order: "pq" }, setting)),
    "WB+FCFS P95": p95Of(run(trace, { ...PAPER, order: "fifo", alpha: best.alpha }, setting)),
    "WB+PQ P50": p50Of(best.runs),
    "WB+PQ P95": p95Of(best.runs),
    bestAlpha: best.alpha,
    p95Ratio: within(tail, 2),
    throughputRatio: within(throughput, 2),
  };
}

interface Column {
  readonly name: string;
  readonly policy: SimulatedPolicy;
  readonly sloScale: number;
}

const SINGLE_COLUMNS: readonly Column[] = [
  { name: "WB+PQ, base", policy: PAPER, sloScale: 1 },
  { name: "WB+PQ, x15", policy: PAPER, sloScale: 15 },
  { name: "WB+urgency, x15", policy: WORK_BALANCE, sloScale: 15 },
  { name: "WB+oldest first", policy: { ...WORK_BALANCE, order: "wfifo" }, sloScale: 15 },
  { name: "ECT+urgency, x15", policy: { ...WORK_BALANCE, dispatch: "ect" }, sloScale: 15 },
  { name: "platform, x15", policy: PLATFORM, sloScale: 15 },
];

const SINGLE_ROWS: readonly {
  readonly label: string;
  readonly setting: Omit<Setting, "sloScales">;
}[] = [
  { label: "0.5/s, reuse off", setting: { ratePerS: 0.5 } },
  { label: "0.5/s, reuse on", setting: { ratePerS: 0.5, reuse: "unbounded" } },
  {
    label: "0.5/s, reuse on, batch slope 0.03",
    setting: { ratePerS: 0.5, reuse: "unbounded", batchSlope: 0.03 },
  },
  { label: "0.1/s, reuse off", setting: { ratePerS: 0.1 } },
  { label: "0.1/s, reuse on", setting: { ratePerS: 0.1, reuse: "unbounded" } },
  { label: "0.02/s, reuse off", setting: { ratePerS: 0.02 } },
  { label: "0.02/s, reuse on", setting: { ratePerS: 0.02, reuse: "unbounded" } },
];

/** One objective for all, synthetic trace 3: P50 / P95 in s, and throughput. */
export function singleObjectiveTable(): TableRow[] {
  return SINGLE_ROWS.map(({ label, setting }) => {
    const row: TableRow = { load: label, seeds: TABLE_SEEDS };
    for (const { name, policy, sloScale } of SINGLE_COLUMNS) {
      const runs = run("trace3", policy, { ...setting, sloScales: [sloScale] });
      const p95 = intervalOf(runs.map(({ p95S }) => p95S));
      const throughput = meanOf(runs, ({ throughputPerS }) => throughputPerS);
      row[name] = `${p50Of(runs)} / ${within(p95, 0)}, ${throughput.toFixed(4)}/s`;
    }
    return row;
  });
}

const MIXED_QUEUES: readonly { readonly name: string; readonly policy: SimulatedPolicy }[] = [
  { name: "RR+FCFS", policy: ROUND_ROBIN },
  { name: "WB+FCFS", policy: { ...PAPER, order: "fifo" } },
  { name: "WB+PQ, one list per workflow", policy: PAPER },
  { name: "WB+PQ, shared list", policy: { ...PAPER, variant: "shared-template" } },
  { name: "WB+workflow EDF", policy: { ...WORK_BALANCE, order: "edf_wf" } },
  { name: "WB+oldest first", policy: { ...WORK_BALANCE, order: "wfifo" } },
  { name: "WB+urgency", policy: WORK_BALANCE },
  {
    name: "WB+urgency, class fixed at dispatch",
    policy: { ...WORK_BALANCE, variant: "fixed-class" },
  },
  { name: "ECT+urgency", policy: { ...WORK_BALANCE, dispatch: "ect" } },
  { name: "platform", policy: PLATFORM },
];

const MIXED_LOADS: readonly { readonly label: string; readonly setting: Setting }[] = [
  { label: "0.5/s, 4 8 16, reuse off", setting: { ratePerS: 0.5, sloScales: [4, 8, 16] } },
  {
    label: "0.5/s, 4 8 16, reuse on",
    setting: { ratePerS: 0.5, sloScales: [4, 8, 16], reuse: "unbounded", batchSlope: 0.02 },
  },
  { label: "0.1/s, 2 5 10, reuse off", setting: { ratePerS: 0.1, sloScales: [2, 5, 10] } },
];

/** Mixed objectives, synthetic trace 3: attainment of all, of the tightest class. */
export function mixedObjectiveTable(): TableRow[] {
  return MIXED_QUEUES.map(({ name, policy }) => {
    const row: TableRow = { policy: name, seeds: TABLE_SEEDS };
    for (const { label, setting } of MIXED_LOADS) {
      const runs = run("trace3", policy, setting);
      const all = intervalOf(runs.map(({ attainment }) => attainment));
      const tight = meanOf(runs, ({ tightestAttainment }) => tightestAttainment);
      row[label] = `${within(all, 3)} / ${tight.toFixed(3)}`;
    }
    return row;
  });
}

const ABLATION: readonly { readonly name: string; readonly policy: SimulatedPolicy }[] = [
  { name: "round robin, first come first served", policy: ROUND_ROBIN },
  { name: "round robin, paper's order", policy: { ...ROUND_ROBIN, order: "pq" } },
  { name: "round robin, urgency", policy: { ...ROUND_ROBIN, order: "urgency" } },
  { name: "work balance, first come first served", policy: { ...WORK_BALANCE, order: "fifo" } },
  { name: "work balance, paper's order (the paper's policy)", policy: PAPER },
  { name: "work balance, urgency", policy: WORK_BALANCE },
  { name: "work balance, urgency, backfill", policy: { ...WORK_BALANCE, admission: "backfill" } },
  { name: "batch, urgency", policy: { ...PLATFORM, admission: "blocking" } },
  { name: "batch, first come first served, backfill", policy: { ...PLATFORM, order: "fifo" } },
  { name: "batch, urgency, backfill (platform)", policy: PLATFORM },
  { name: "the same with stealing (simulated only)", policy: { ...PLATFORM, variant: "stealing" } },
];

/** What each part adds: per seed the mean over traces 1 to 3, then mean and interval over the seeds. */
export function ablationTable(): TableRow[] {
  const single: Setting = { ratePerS: 0.5, sloScales: [15] };
  const mixed: Setting = { ratePerS: 0.5, sloScales: [4, 8, 16] };
  return ABLATION.map(({ name, policy }) => {
    const gain = (figure: (summary: Summary) => number): string => {
      const ratios = JUDGED_TRACES.map((trace) => ratiosOf(trace, policy, single, figure));
      return within(overTraces(ratios), 3);
    };
    const kept = JUDGED_TRACES.map((trace) =>
      run(trace, policy, mixed).map(({ attainment }) => attainment),
    );
    return {
      policy: name,
      seeds: TABLE_SEEDS,
      p95LowerBy: gain(({ p95S }) => 1 / p95S),
      p50LowerBy: gain(({ p50S }) => 1 / p50S),
      throughputOver: gain(({ throughputPerS }) => throughputPerS),
      mixedAttainment: within(overTraces(kept), 3),
    };
  });
}

/** `values`: per trace one value per seed. */
function overTraces(values: readonly (readonly number[])[]): Paired {
  const perSeed = Array.from({ length: TABLE_SEEDS }, (_, seed) => {
    const sum = values.reduce((total, ofTrace) => total + (ofTrace[seed] ?? Number.NaN), 0);
    return sum / values.length;
  });
  return intervalOf(perSeed);
}

/** A figure over that of round robin, per seed. */
function ratiosOf(
  trace: TraceName,
  policy: SimulatedPolicy,
  setting: Setting,
  figure: (summary: Summary) => number,
): number[] {
  const baseline = run(trace, ROUND_ROBIN, setting);
  return run(trace, policy, setting).map((own, seed) => {
    const peer = baseline[seed];
    return peer === undefined ? Number.NaN : figure(own) / figure(peer);
  });
}
