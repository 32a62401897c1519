/** The tables beside the gates: reproduction, comparison of orders, ablation, realism. */
import type { SimulatedPolicy } from "../../autoscaler/simulator/hexgen/scenario.ts";
import type { Summary } from "../../autoscaler/simulator/hexgen/summary.ts";
import type { Setting, TraceName } from "./runs.ts";
import {
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
const run = (trace: TraceName, policy: SimulatedPolicy, setting: Setting): readonly Summary[] =>
  runSeeds(trace, policy, setting, TABLE_SEEDS);
const p50Of = (runs: readonly Summary[]): number =>
  round(
    meanOf(runs, ({ p50S }) => p50S),
    0,
  );
const p95Of = (runs: readonly Summary[]): number =>
  round(
    meanOf(runs, ({ p95S }) => p95S),
    0,
  );

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
    "RR+FCFS P50": p50Of(baseline),
    "RR+FCFS P95": p95Of(baseline),
    "RR+PQ P95": p95Of(run(trace, { ...ROUND_ROBIN, order: "pq" }, setting)),
    "WB+FCFS P95": p95Of(run(trace, { ...PAPER, order: "fifo", alpha: best.alpha }, setting)),
    "WB+PQ P50": p50Of(best.runs),
    "WB+PQ P95": p95Of(best.runs),
    bestAlpha: best.alpha,
    p95Ratio: round(tail.mean, 2),
    throughputRatio: round(throughput.mean, 2),
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
    const row: TableRow = { load: label };
    for (const { name, policy, sloScale } of SINGLE_COLUMNS) {
      const runs = run("trace3", policy, { ...setting, sloScales: [sloScale] });
      const throughput = meanOf(runs, ({ throughputPerS }) => throughputPerS);
      row[name] = `${p50Of(runs)} / ${p95Of(runs)}, ${throughput.toFixed(4)}/s`;
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
    const row: TableRow = { policy: name };
    for (const { label, setting } of MIXED_LOADS) {
      const runs = run("trace3", policy, setting);
      const all = meanOf(runs, ({ attainment }) => attainment);
      const tight = meanOf(runs, ({ tightestAttainment }) => tightestAttainment);
      row[label] = `${all.toFixed(3)} / ${tight.toFixed(3)}`;
    }
    return row;
  });
}

const ABLATION: readonly { readonly name: string; readonly policy: SimulatedPolicy }[] = [
  { name: "round robin, first come first served", policy: ROUND_ROBIN },
  { name: "round robin, urgency", policy: { ...ROUND_ROBIN, order: "urgency" } },
  { name: "work balance, first come first served", policy: { ...WORK_BALANCE, order: "fifo" } },
  { name: "work balance, urgency", policy: WORK_BALANCE },
  { name: "work balance, urgency, backfill", policy: { ...WORK_BALANCE, admission: "backfill" } },
  { name: "batch, urgency", policy: { ...PLATFORM, admission: "blocking" } },
  { name: "batch, first come first served, backfill", policy: { ...PLATFORM, order: "fifo" } },
  { name: "batch, urgency, backfill (platform)", policy: PLATFORM },
];

/** What each part adds: mean over traces 1 to 3. */
export function ablationTable(): TableRow[] {
  const single: Setting = { ratePerS: 0.5, sloScales: [15] };
  const mixed: Setting = { ratePerS: 0.5, sloScales: [4, 8, 16] };
  return ABLATION.map(({ name, policy }) => ({
    policy: name,
    p95LowerBy: overTraces((trace) => ratioOf(trace, policy, single, (s) => 1 / s.p95S)),
    p50LowerBy: overTraces((trace) => ratioOf(trace, policy, single, (s) => 1 / s.p50S)),
    throughputOver: overTraces((trace) =>
      ratioOf(trace, policy, single, ({ throughputPerS }) => throughputPerS),
    ),
    mixedAttainment: overTraces((trace) =>
      meanOf(run(trace, policy, mixed), ({ attainment }) => attainment),
    ),
  }));
}

const overTraces = (figure: (trace: TraceName) => number): number =>
  round(JUDGED_TRACES.reduce((sum, trace) => sum + figure(trace), 0) / JUDGED_TRACES.length, 3);

function ratioOf(
  trace: TraceName,
  policy: SimulatedPolicy,
  setting: Setting,
  figure: (summary: Summary) => number,
): number {
  const own = run(trace, policy, setting);
  const baseline = run(trace, ROUND_ROBIN, setting);
  return paired(own, baseline, (left, right) => figure(left) / figure(right)).mean;
}

const single: Setting = { ratePerS: 0.5, sloScales: [15] };
const chunked = (overlap: number): Setting => ({
  ...single,
  realism: { engine: { stepTokens: 512, largestBatch: 64, overlap } },
});

const REALISM: readonly { readonly name: string; readonly setting: Setting }[] = [
  { name: "reference model", setting: single },
  { name: "batch slope 0.02", setting: { ...single, batchSlope: 0.02 } },
  { name: "chunked prefill, growing cache, preemption", setting: chunked(0) },
  { name: "the same, decode hidden behind prefill", setting: chunked(1) },
  {
    name: "the same, prefix cache with eviction",
    setting: { ...chunked(1), reuse: "evicting", batchSlope: 0.02 },
  },
  { name: "estimates off by sigma 0.5", setting: { ...single, realism: { estimateSigma: 0.5 } } },
  { name: "estimates off by sigma 1", setting: { ...single, realism: { estimateSigma: 1 } } },
  {
    name: "dispatch and books late by 5 to 50 ms",
    setting: { ...single, realism: { dispatchLatencyMs: [5, 50] } },
  },
  { name: "tools take 2 s between stages", setting: { ...single, realism: { toolTimeMs: 2000 } } },
  {
    name: "one call of 50 writes four times as much",
    setting: { ...single, realism: { stragglers: { share: 0.02, factor: 4 } } },
  },
  {
    name: "an A100 lost from 200 s to 320 s",
    setting: { ...single, realism: { outages: [{ card: 0, fromS: 200, untilS: 320 }] } },
  },
  {
    name: "pool starts from zero in 60 s",
    setting: {
      ...single,
      realism: { outages: [0, 1, 2, 3].map((card) => ({ card, fromS: 0, untilS: 60 })) },
    },
  },
  {
    name: "pool A100 A6000 A100 A6000",
    setting: { ...single, pool: ["A100", "A6000", "A100", "A6000"] },
  },
  { name: "four A100", setting: { ...single, pool: ["A100", "A100", "A100", "A100"] } },
  { name: "bursts, variation 3", setting: { ...single, burstiness: 3 } },
  { name: "beside a chat call each 4 s", setting: { ...single, chatPerS: 0.25 } },
];

/** The ranking of the policies under what the reference model leaves out, trace 3. */
export function realismTable(): TableRow[] {
  return REALISM.map(({ name, setting }) => {
    const baseline = run("trace3", ROUND_ROBIN, setting);
    const row: TableRow = { condition: name, "RR+FCFS P95": p95Of(baseline) };
    for (const [label, policy] of [
      ["WB+PQ", PAPER],
      ["WB+urgency", WORK_BALANCE],
      ["platform", PLATFORM],
    ] as const) {
      const own = run("trace3", policy, setting);
      const tail = paired(own, baseline, (left, right) => right.p95S / left.p95S).mean;
      const more = paired(own, baseline, (l, r) => l.throughputPerS / r.throughputPerS).mean;
      row[label] = `P95 ${p95Of(own)}, lower by ${tail.toFixed(2)}; throughput ${more.toFixed(2)}`;
    }
    return row;
  });
}
