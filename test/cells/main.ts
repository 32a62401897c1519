/**
 * `npm run test:cells`: breaks a platform of several cells under load, one fault at a time, and
 * counts what became of each request and of the bounds of a service.
 *
 *   npm run test:cells -- --json FILE [--only NAME]
 */
import { parseArgs } from "node:util";
import { errorText } from "../../common/errors.ts";
import { ReportBuilder, exitCodeOf, writeReport } from "../../foundation/report.ts";
import { startValkey } from "../support/valkey.ts";
import { CELL_FAULTS } from "./faults.ts";
import type { CellFault } from "./faults.ts";
import { CellsWorld, pause } from "./world.ts";

const { values } = parseArgs({ options: { json: { type: "string" }, only: { type: "string" } } });
const report = new ReportBuilder("test:cells");
const WARM_UP_MS = 1_500;

interface Outcome {
  readonly fault: string;
  readonly failedUndelivered: number;
  readonly doubled: number;
  readonly outsideRegions: number;
  readonly podsOverMax: number;
  readonly recoveredAfterMs: number;
}

let isFinished = false;
const outcomes: Outcome[] = [];
const broken: string[] = [];
const chosen = CELL_FAULTS.filter(
  ({ name }) => values.only === undefined || name.includes(values.only),
);
if (chosen.length === 0) {
  throw new Error(
    `No fault is named "${values.only}": ${CELL_FAULTS.map(({ name }) => name).join(", ")}`,
  );
}
process.on("SIGINT", () => finish("cut short"));
process.on("SIGTERM", () => finish("cut short"));
await noteServer();
for (const fault of chosen) await runOne(fault);
finish();

async function runOne(fault: CellFault): Promise<void> {
  const startedAt = performance.now();
  try {
    const outcome = await measure(fault);
    outcomes.push(outcome);
    print(`${describe(outcome)}  (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`);
  } catch (error) {
    broken.push(fault.name);
    report.note(`${fault.name}: not measured, because ${errorText(error)}`);
    print(`${fault.name}: not measured, because ${errorText(error)}`);
  }
}

async function measure(fault: CellFault): Promise<Outcome> {
  const world = await CellsWorld.start(fault.preloads);
  try {
    world.startLoad();
    await pause(WARM_UP_MS);
    const injectedAt = performance.now();
    await fault.inject(world);
    await pause(fault.afterMs);
    await world.settle();
    const { longestMs: recoveredAfterMs, reasons, ...counts } = world.ledger.counts(injectedAt);
    const { outsideRegions, podsOverMax } = world;
    const row = { fault: fault.name, ...counts, outsideRegions, podsOverMax, recoveredAfterMs };
    report.addToTable("faults", row);
    for (const [reason, count] of Object.entries(reasons)) {
      report.addToTable("failures", { fault: fault.name, reason, count });
    }
    return row;
  } finally {
    await world.close();
  }
}

function describe({ fault, ...counts }: Outcome): string {
  return `${fault}: ${Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ")}`;
}

/** The bars, over all faults together. */
function addRows(): void {
  const sum = (of: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const never: readonly (readonly [string, number])[] = [
    ["failedUndelivered", sum(({ failedUndelivered }) => failedUndelivered)],
    ["doubled", sum(({ doubled }) => doubled)],
    ["outsideRegions", sum(({ outsideRegions }) => outsideRegions)],
    ["podsOverMax", sum(({ podsOverMax }) => podsOverMax)],
    ["not_measured", broken.length],
  ];
  for (const [name, value] of never) {
    report.row({ id: `cells.faults.${name}`, value, unit: "count", must: "0", goal: "0" });
  }
  const slowest = Math.max(0, ...outcomes.map(({ recoveredAfterMs }) => recoveredAfterMs));
  report.row({ id: "cells.faults.recovered.max", value: slowest, unit: "ms", goal: "<= 4000" });
}

function finish(why = ""): void {
  if (isFinished) return;
  isFinished = true;
  addRows();
  if (why === "") report.complete();
  else report.note(why);
  const finished = report.report();
  for (const row of finished.rows) print(`${row.id} ${row.value} ${row.unit}: ${row.verdict}`);
  if (values.json !== undefined) writeReport(finished, values.json);
  process.exitCode = exitCodeOf(finished);
  if (why !== "") process.exit();
}

async function noteServer(): Promise<void> {
  const server = await startValkey();
  const info = await server.admin.info("server");
  report.store(/^valkey_version:(\S+)/m.exec(info)?.[1] ?? "", server.kind === "redis");
  await server.stop();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
