/**
 * `npm run bench:cells`: time of a choice, what a hop adds, what an activator keeps per service, and
 * a simulated day of six cells under three policies.
 *
 *   npm run bench:cells -- --json bench/results/cells.json
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { dayOfSixCells, dayWithLoss } from "../autoscaler/simulator/cells/day.ts";
import { simulateCells } from "../autoscaler/simulator/cells/simulate.ts";
import { CELL_POLICIES } from "../autoscaler/simulator/cells/types.ts";
import type { CellsResult, CellsScenario } from "../autoscaler/simulator/cells/types.ts";
import { exitCodeOf, ReportBuilder, writeReport } from "../foundation/report.ts";
import { noteStore } from "../test/support/note-store.ts";
import { startValkey } from "../test/support/valkey.ts";
import type { ValkeyServer } from "../test/support/valkey.ts";
import { measureChoose } from "./cells/choose.ts";
import { measureSpill } from "./cells/spill.ts";

const MEMORY = fileURLToPath(new URL("cells/memory.ts", import.meta.url));
const SMALL = 1_000;
const LARGE = 10_000;

const { values } = parseArgs({ options: { json: { type: "string" } } });
const report = new ReportBuilder("bench:cells");
try {
  await noteStore(report);
  reportChoose();
  reportDays();
  const server = await startValkey();
  try {
    await reportSpill(server);
    reportMemory(server);
  } finally {
    await server.stop();
  }
  report.complete();
} finally {
  const finished = report.report();
  if (values.json !== undefined) writeReport(finished, values.json);
  for (const row of finished.rows) {
    console.log(`${row.id.padEnd(30)} ${row.value?.toFixed(4)} ${row.unit}  ${row.verdict}`);
  }
  process.exitCode = exitCodeOf(finished);
}

function reportChoose(): void {
  const { p99Ms, samples } = measureChoose();
  report.row({
    id: "cells.choose.p99",
    value: p99Ms,
    unit: "ms",
    n: samples,
    must: "<= 1",
    goal: "<= 0.1",
  });
}

async function reportSpill(server: ValkeyServer): Promise<void> {
  const { addedMs, samples, directMs, spilledMs, roundTripMs } = await measureSpill(server);
  report.row({
    id: "cells.spill.added.p50",
    value: addedMs,
    unit: "ms",
    n: samples,
    must: "<= 1.5",
    goal: "<= 0.8",
  });
  report.addToTable("spill", { directMs, spilledMs, roundTripMs, addedMs });
}

function reportMemory(server: ValkeyServer): void {
  const [small, large] = [SMALL, LARGE].map((services) => bytesPerService(server, services));
  if (small === undefined || large === undefined) return;
  report.row({
    id: "cells.memory_per_service",
    value: large,
    unit: "B",
    peer: `${SMALL} services`,
    peerValue: small,
    ratio: large / small,
    must: "<= 1.3",
    goal: "<= 1.1",
  });
}

function bytesPerService(server: ValkeyServer, services: number): number {
  const args = ["--expose-gc", MEMORY, server.url, server.freshPrefix(), String(services)];
  const output = execFileSync(process.execPath, args, { encoding: "utf8" });
  const { bytesPerService: bytes } = JSON.parse(output) as { bytesPerService: number };
  return bytes;
}

function reportDays(): void {
  const day = runDay("day", dayOfSixCells());
  runDay("day with a lost cell", dayWithLoss());
  const [nearest, , ours] = day;
  if (nearest === undefined || ours === undefined) return;
  const rows = [
    ["wait.p95", ours.waitMs.p95, nearest.waitMs.p95, "ms", "<= 0.5", "<= 0.25"],
    ["cost", ours.cost, nearest.cost, "price", "<= 1.0", "<= 0.9"],
  ] as const;
  for (const [name, value, peerValue, unit, must, goal] of rows) {
    const ratio = value / peerValue;
    const id = `cells.${name}.over_nearest`;
    report.row({ id, value, unit, peer: "nearest only", peerValue, ratio, must, goal });
  }
}

function runDay(name: string, scenario: CellsScenario): readonly CellsResult[] {
  return CELL_POLICIES.map((policy) => {
    const result = simulateCells(policy, scenario);
    const { requests, cost, spilled, waitMs } = result;
    report.addToTable("days", { day: name, policy, requests, cost, spilled, ...waitMs });
    return result;
  });
}
