/**
 * `npm run bench:scaling`: the autoscaler against the stock algorithm in simulation, a live run
 * against its replay, the way of 64 pods to zero, and the cost of a tick with many revisions.
 *
 *   npm run bench:scaling -- --json bench/results/scaling.json
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ScalingResult } from "../autoscaler/simulator/scaling/types.ts";
import { exitCodeOf, ReportBuilder, writeReport } from "../foundation/report.ts";
import { noteStore } from "../test/support/note-store.ts";
import { formatTable } from "../foundation/text-table.ts";
import { startValkey } from "../test/support/valkey.ts";
import { duel, FLOOR_MS, geometricMean, run, TARGET_MS } from "./scaling/best.ts";
import type { Duel } from "./scaling/best.ts";
import { recordLiveRun, replay } from "./scaling/live.ts";
import type { ReplayedTick } from "./scaling/live.ts";
import { frontierPlot, podsPlot, ratioPlot, replayPlot } from "./scaling/plots.ts";
import { promptness } from "./scaling/promptness.ts";
import { measureTicks } from "./scaling/ticks.ts";
import { TRACES } from "./scaling/traces.ts";

type TableRow = Readonly<Record<string, string | number>>;

const RESULTS = "bench/results";
const SIZES = [10, 1_000, 10_000] as const;

const { values } = parseArgs({ options: { json: { type: "string" } } });
const report = new ReportBuilder("bench:scaling");
try {
  await noteStore(report);
  await reportTicks();
  reportCooldown();
  reportPromptness();
  const ticks = await reportReplay();
  const duels = reportDuels();
  writePlots(duels, ticks);
  report.note(
    `Simulation on virtual time, one request per pod, starts of 8 to 20 s. "Best" of kpa is the ` +
      `least GPU time with a waiting p95 of at most ${TARGET_MS} ms; "best" of ours is chosen among ` +
      `what is worse than that in neither. Waits below ${FLOOR_MS} ms count as ${FLOOR_MS} ms.`,
  );
  report.complete();
} finally {
  const finished = report.report();
  if (values.json !== undefined) writeReport(finished, values.json);
  for (const row of finished.rows) {
    console.log(`${row.id.padEnd(34)} ${row.value?.toFixed(3)} ${row.unit}  ${row.verdict}`);
  }
  console.log(`\n${finished.rows.length} rows, ${finished.seconds} s`);
  process.exitCode = exitCodeOf(finished);
}

async function reportTicks(): Promise<void> {
  const server = await startValkey();
  try {
    const costs: TableRow[] = [];
    for (const size of SIZES) {
      const cost = await measureTicks(server, size);
      costs.push({ ...cost });
      if (size !== 10_000) continue;
      report.row({
        id: "scaling.tick.10000",
        value: cost.medianMs / 1_000,
        unit: "s",
        n: 5,
        must: "<= 1",
        goal: "<= 0.2",
      });
    }
    reportTable("ticks", costs);
  } finally {
    await server.stop();
  }
}

/** 64 requests end at one instant; the pods that served them go in one step. */
function reportCooldown(): void {
  const serviceMs = 60_000;
  const arrivals = Array.from({ length: 64 }, () => ({ atMs: 0, serviceMs }));
  const settings = {
    "autoscaling.knative.dev/window": "30s",
    "pilotlight.dev/cooldown": "60s",
  };
  const result = run({ name: "64 pods", arrivals }, settings, [1_000]);
  const endedMs = result.waitMs.max + serviceMs;
  const [zeroMs = Number.NaN, pods] = result.scale.at(-1) ?? [];
  report.row({
    id: "scaling.cooldown.64",
    value: pods === 0 && result.peakPods === 64 ? (zeroMs - endedMs) / 1_000 : null,
    unit: "s",
    must: "<= 94",
    goal: "<= 92",
    ...(pods === 0 ? {} : { why: "the pods never went" }),
  });
}

function reportPromptness(): void {
  const rows = TRACES.map(promptness);
  reportTable(
    "promptness",
    rows.map((row) => ({ ...row, meanLeadSeconds: Number(row.meanLeadSeconds.toFixed(1)) })),
  );
  report.row({
    id: "scaling.never_later_than_kpa",
    value: rows.filter(({ later }) => later > 0).length,
    unit: "count",
    n: rows.reduce((sum, { rises }) => sum + rises, 0),
    must: "0",
    goal: "0",
  });
}

async function reportReplay(): Promise<readonly ReplayedTick[]> {
  const recorded = await recordLiveRun();
  const ticks = replay(recorded);
  const wrong = ticks.filter(({ live, simulated }) => live !== simulated).length;
  reportTable(
    "replay",
    ticks.map((tick) => ({ ...tick })),
  );
  const id = "scaling.simulator.pods_wrong";
  const limits = { unit: "count", n: ticks.length, must: "0", goal: "0" };
  if (recorded.failed === 0) report.row({ id, value: wrong, ...limits });
  else report.row({ id, value: null, ...limits, why: `${recorded.failed} requests failed` });
  return ticks;
}

function reportDuels(): readonly Duel[] {
  const duels = TRACES.map(duel);
  reportTable(
    "equalSettings",
    duels.flatMap(({ trace, requests, equal }) => [
      { trace, requests, algorithm: "pilot", ...figures(equal.pilot) },
      { trace, requests, algorithm: "kpa", ...figures(equal.kpa) },
    ]),
  );
  reportTable(
    "bestSettings",
    duels.flatMap(({ trace, best, cheapest }) => [
      bestRow(trace, "pilot", best.pilot),
      bestRow(trace, "pilot, least GPU time", cheapest),
      bestRow(trace, "kpa", best.kpa),
    ]),
  );
  ratioRow(
    "scaling.wait.p95.over_kpa",
    duels.map(({ waitRatio }) => waitRatio),
    ["<= 0.8", "<= 0.5"],
  );
  ratioRow(
    "scaling.gpu_seconds.over_kpa",
    duels.map(({ gpuRatio }) => gpuRatio),
    ["<= 1.0", "<= 0.85"],
  );
  return duels;
}

function ratioRow(
  id: string,
  ratios: readonly number[],
  [must, goal]: readonly [string, string],
): void {
  const value = geometricMean(ratios);
  const spread = [Math.min(...ratios), Math.max(...ratios)] as const;
  const n = ratios.length;
  report.row({ id, value, unit: "ratio", n, peer: "kpa", ratio: value, spread, must, goal });
}

function bestRow(trace: string, algorithm: string, best: Duel["cheapest"]): TableRow {
  const settings = Object.entries(best.annotations)
    .map(([key, value]) => `${key.split("/")[1]}=${value}`)
    .join(" ");
  return { trace, algorithm, ...figures(best.result), settings };
}

function figures(result: ScalingResult): TableRow {
  return {
    coldStarts: result.coldStarts,
    waitP50Ms: Math.round(result.waitMs.p50),
    waitP95Ms: Math.round(result.waitMs.p95),
    waitP99Ms: Math.round(result.waitMs.p99),
    gpuSeconds: Math.round(result.podSeconds.total),
    idleSeconds: Math.round(result.podSeconds.idle),
    podStarts: result.podStarts,
    peakPods: result.peakPods,
  };
}

function reportTable(name: string, rows: readonly TableRow[]): void {
  for (const row of rows) report.addToTable(name, row);
  const columns = Object.keys(rows[0] ?? {});
  const cells = rows.map((row) => columns.map((column) => String(row[column] ?? "")));
  console.log(`\n${name}\n${formatTable(columns, cells)}`);
}

function writePlots(duels: readonly Duel[], ticks: readonly ReplayedTick[]): void {
  mkdirSync(RESULTS, { recursive: true });
  const bursts = duels.find(({ trace }) => trace === "bursts");
  const plots = {
    "scaling-ratios.svg": ratioPlot(duels),
    "scaling-replay.svg": replayPlot(ticks),
    ...(bursts === undefined
      ? {}
      : { "scaling-frontier.svg": frontierPlot(bursts), "scaling-pods.svg": podsPlot(bursts) }),
  };
  for (const [name, svg] of Object.entries(plots)) {
    writeFileSync(`${RESULTS}/${name}`, svg);
    report.plot(`${RESULTS}/${name}`);
  }
}
