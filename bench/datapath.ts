/**
 * `npm run bench:datapath`: the queue-proxy (fast and safe front) beside stock's, nginx and HAProxy,
 * and the activator beside stock's, in front of the same upstream, interleaved, as ratios of on-CPU
 * time and latency.
 *
 *   npm run bench:datapath -- --json bench/results/datapath.json [--rounds 3] [--seconds 2] [--quick]
 *                             [--only activator,sidecar]
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exitCodeOf, ReportBuilder, writeReport } from "../foundation/report.ts";
import { formatTable } from "../foundation/text-table.ts";
import { type ActivatorRound, measureActivators, measureProcesses } from "./datapath/activator.ts";
import { peerKinds, type PeerKind, type PeerName } from "./datapath/peers.ts";
import { addRows, addTables, cpuSeries, type Measurements, type Round } from "./datapath/rows.ts";
import { findTools } from "./datapath/tools.ts";
import {
  playDirect,
  playTurn,
  type StartTime,
  timeStart,
  type Turn,
  type TurnPlan,
  weighHeld,
} from "./datapath/turns.ts";
import { startBulkUpstream, startStreamUpstream } from "./datapath/upstream.ts";
import { lineChart } from "./hexgen/svg.ts";

const PLOT = join(import.meta.dirname, "results/datapath-cpu.svg");
/** Set in the run that has a network of its own, in which every port is free. */
const INSIDE = "PILOTLIGHT_BENCH_INSIDE";
const STARTS = 9;

const { values } = parseArgs({
  options: {
    json: { type: "string" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "2" },
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "activator,sidecar" },
  },
});
const rounds = values.quick ? 1 : Number(values.rounds);
const seconds = values.quick ? 1 : Number(values.seconds);
const connections = values.quick ? [16, 64] : [1, 16, 64, 256];

const tools = findTools();
if (process.env[INSIDE] === undefined && hasOwnNetwork()) process.exitCode = runInside();
else await main();

function wants(part: string): boolean {
  return values.only.split(",").includes(part);
}

/** The stock queue-proxy listens on all interfaces and on fixed ports: nobody outside may see it. */
function hasOwnNetwork(): boolean {
  return spawnSync("unshare", ["-n", "ip", "link", "set", "lo", "up"]).status === 0;
}

function runInside(): number {
  const again = 'ip link set lo up && exec "$0" "$@"';
  const args = ["-n", "sh", "-c", again, process.execPath, ...process.argv.slice(1)];
  return (
    spawnSync("unshare", args, { stdio: "inherit", env: { ...process.env, [INSIDE]: "1" } })
      .status ?? 1
  );
}

async function main(): Promise<void> {
  const report = new ReportBuilder("bench:datapath");
  const found = {
    rounds: [] as Round[],
    activators: [] as ActivatorRound[],
    starts: new Map<PeerName, StartTime[]>(),
    held: new Map<PeerName, number[]>(),
  };
  try {
    await measure(report, found);
    report.complete();
  } catch (error) {
    report.note(`stopped early: ${String(error)}`);
    console.error(error);
  } finally {
    finish(report, found);
  }
}

async function measure(
  report: ReportBuilder,
  found: {
    readonly rounds: Round[];
    readonly activators: ActivatorRound[];
    readonly starts: Map<PeerName, StartTime[]>;
    readonly held: Map<PeerName, number[]>;
  },
): Promise<void> {
  const kinds = peerKinds(tools).filter((kind) => isThere(kind, report));
  const bulk = await startBulkUpstream(tools.nginx);
  const stream = await startStreamUpstream();
  const plan: TurnPlan = {
    wrk: tools.wrk,
    bulkPort: bulk.port,
    streamPort: stream.port,
    connections,
    seconds,
  };
  try {
    if (wants("activator")) {
      const shared = { tools, upstreamPort: bulk.port, seconds, rounds };
      await measureActivators(shared, found.activators);
      await measureProcesses(shared, found.activators);
    }
    if (!wants("sidecar")) return;
    await timeStarts(kinds, bulk.port, found.starts);
    for (let turn = 0; turn < rounds; turn += 1) {
      console.error(`round ${turn + 1} of ${rounds}`);
      found.rounds.push(await playRound(turn % 2 === 0 ? kinds : kinds.toReversed(), plan));
      await weigh(kinds, stream.port, found.held);
    }
  } finally {
    await bulk.stop();
    await stream.stop();
  }
}

function isThere({ name, why }: PeerKind, report: ReportBuilder): boolean {
  if (why !== undefined) report.note(`${name} is not compared: ${why}`);
  return why === undefined;
}

async function playRound(kinds: readonly PeerKind[], plan: TurnPlan): Promise<Round> {
  const turns = new Map<PeerName, Turn>();
  for (const kind of kinds) turns.set(kind.name, await playTurn(kind, plan));
  return { turns, direct: await playDirect(plan) };
}

async function timeStarts(
  kinds: readonly PeerKind[],
  upstreamPort: number,
  starts: Map<PeerName, StartTime[]>,
): Promise<void> {
  for (let i = 0; i < STARTS; i += 1) {
    for (const kind of kinds.filter(isSidecar)) {
      append(starts, kind.name, await timeStart(kind, upstreamPort));
    }
  }
}

async function weigh(
  kinds: readonly PeerKind[],
  streamPort: number,
  held: Map<PeerName, number[]>,
): Promise<void> {
  for (const kind of kinds.filter(isSidecar)) {
    append(held, kind.name, await weighHeld(kind, streamPort));
  }
}

function isSidecar({ name }: PeerKind): boolean {
  return name === "raw" || name === "safe" || name === "stock";
}

function append<T>(lists: Map<PeerName, T[]>, name: PeerName, value: T): void {
  lists.set(name, [...(lists.get(name) ?? []), value]);
}

function finish(report: ReportBuilder, found: Measurements): void {
  addRows(report, found);
  addTables(report, found);
  if (found.rounds.length > 0) {
    mkdirSync(join(PLOT, ".."), { recursive: true });
    const chart = { title: "On-CPU time per small request", xLabel: "connections", yLabel: "us" };
    writeFileSync(PLOT, lineChart({ ...chart, series: cpuSeries(found) }));
    report.plot("bench/results/datapath-cpu.svg");
  }
  const finished = report.report();
  const cells = finished.rows.map((row) => [
    row.id,
    row.value?.toPrecision(3) ?? row.why ?? "",
    row.spread?.map((edge) => edge.toPrecision(3)).join("-") ?? "",
    row.must ?? "",
    row.goal ?? "",
    row.verdict,
  ]);
  console.log(formatTable(["id", "value", "spread", "must", "goal", "verdict"], cells));
  for (const [name, lines] of Object.entries(finished.tables)) {
    console.log(`\n${name}`);
    console.table(lines);
  }
  for (const note of finished.notes) console.log(`note: ${note}`);
  if (values.json !== undefined) writeReport(finished, values.json);
  process.exitCode = exitCodeOf(finished);
}
