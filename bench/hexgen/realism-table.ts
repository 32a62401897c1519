/** The policies under what the reference model leaves out: does the ranking hold? */
import { coldStart } from "../../autoscaler/simulator/hexgen/realism.ts";
import type { StartParts } from "../../autoscaler/simulator/hexgen/realism.ts";
import {
  BENCHMARK_POOL,
  createPool,
  TEXT2SQL,
} from "../../autoscaler/simulator/hexgen/text2sql.ts";
import { serviceUs } from "../../common/hexgen/cost.ts";
import type { Setting, TraceName } from "./runs.ts";
import {
  paired,
  PAPER,
  PLATFORM,
  ROUND_ROBIN,
  TABLE_SEEDS,
  traceOf,
  WORK_BALANCE,
} from "./runs.ts";
import type { TableRow } from "./tables.ts";
import { p95Of, run, within } from "./tables.ts";

const single: Setting = { ratePerS: 0.5, sloScales: [15] };
const chunked = (overlap: number): Setting => ({
  ...single,
  realism: { engine: { stepTokens: 512, largestBatch: 64, overlap } },
});

function startedFromZero(parts: StartParts): Setting {
  return {
    ...single,
    realism: { outages: BENCHMARK_POOL.map((_, card) => coldStart(card, 0, parts)) },
  };
}

/** True over expected solo time of each call of a trace, on the first card. */
function tracedResiduals(trace: TraceName): number[] {
  const [card] = createPool(BENCHMARK_POOL);
  if (card === undefined) return [];
  return traceOf(trace).flatMap(({ stages }) =>
    stages.flatMap(({ stage, calls }) => {
      const facts = TEXT2SQL.stages[stage];
      if (facts === undefined) return [];
      const expected = serviceUs(card.profile, { ...facts, cachedTokens: 0 });
      return calls.map((call) => serviceUs(card.profile, { ...call, cachedTokens: 0 }) / expected);
    }),
  );
}

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
    name: "estimates off as those of the traced calls are",
    setting: { ...single, realism: { estimateResiduals: tracedResiduals("trace3") } },
  },
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
    name: "pool starts from zero: image 20 s, weights 30 s, warm-up 10 s",
    setting: startedFromZero({ imageS: 20, weightsS: 30, warmUpS: 10 }),
  },
  {
    name: "the same, image and weights on the node",
    setting: startedFromZero({ imageS: 0, weightsS: 6, warmUpS: 10 }),
  },
  {
    name: "pool A100 A6000 A100 A6000",
    setting: { ...single, pool: ["A100", "A6000", "A100", "A6000"] },
  },
  { name: "four A100", setting: { ...single, pool: ["A100", "A100", "A100", "A100"] } },
  { name: "bursts, variation 3", setting: { ...single, burstiness: 3 } },
  { name: "beside a chat call each 4 s", setting: { ...single, chatPerS: 0.25 } },
];

/**
 * The ranking of the policies under what the reference model leaves out, trace 3: P95, by how much it
 * is lower than that of round robin, and how many times its throughput.
 */
export function realismTable(): TableRow[] {
  return REALISM.map(({ name, setting }) => {
    const baseline = run("trace3", ROUND_ROBIN, setting);
    const row: TableRow = {
      condition: name,
      seeds: TABLE_SEEDS,
      "RR+FCFS P95": p95Of(baseline),
    };
    for (const [label, policy] of [
      ["WB+PQ", PAPER],
      ["WB+urgency", WORK_BALANCE],
      ["platform", PLATFORM],
    ] as const) {
      const own = run("trace3", policy, setting);
      const tail = paired(own, baseline, (left, right) => right.p95S / left.p95S);
      const more = paired(own, baseline, (l, r) => l.throughputPerS / r.throughputPerS);
      row[label] = `${p95Of(own)} s, / ${within(tail, 2)}, x ${within(more, 2)}`;
    }
    return row;
  });
}
