/**
 * `npm run test:faults`: breaks every part of the platform under load, one fault at a time, on real
 * processes, and counts what became of each request. Ends with 0 only when no request failed
 * without being delivered, none ran twice, and no pod ran more than it may.
 *
 *   npm run test:faults -- --json FILE [--only NAME]
 */
import { parseArgs } from "node:util";
import { errorText } from "../../common/errors.ts";
import { ReportBuilder, exitCodeOf, writeReport } from "../../foundation/report.ts";
import { FAULTS } from "./faults.ts";
import type { Fault, Outcome } from "./rig/fault.ts";
import { noteStore } from "../support/note-store.ts";

const { values } = parseArgs({ options: { json: { type: "string" }, only: { type: "string" } } });
const report = new ReportBuilder("test:faults");
const outcomes: Outcome[] = [];
/** Faults that could not be run to their end, with the reason. */
const broken: string[] = [];

const chosen = FAULTS.filter(({ name }) => values.only === undefined || name.includes(values.only));
if (chosen.length === 0) {
  const names = FAULTS.map(({ name }) => name).join(", ");
  throw new Error(`No fault is named "${values.only}"; there are: ${names}`);
}
process.on("SIGINT", () => finish("cut short"));
process.on("SIGTERM", () => finish("cut short"));
await noteStore(report);
for (const fault of chosen) await runOne(fault);
finish();

async function runOne(fault: Fault): Promise<void> {
  const startedAt = performance.now();
  try {
    const outcome = await fault.run();
    outcomes.push(outcome);
    const { reasons, leftovers, ...row } = outcome;
    report.addToTable("faults", row);
    for (const [reason, count] of Object.entries(reasons)) {
      report.addToTable("failures", { fault: fault.name, reason, count });
    }
    for (const what of leftovers) report.note(`${fault.name}: ${what}`);
    print(`${describe(outcome)}  (${seconds(startedAt)} s)`);
  } catch (error) {
    broken.push(fault.name);
    report.note(`${fault.name}: not measured, because ${errorText(error)}`);
    print(`${fault.name}: not measured, because ${errorText(error)}`);
  }
}

function describe(outcome: Outcome): string {
  const { fault, reasons, leftovers, ...counts } = outcome;
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  const why = Object.entries(reasons).map(([reason, count]) => `${count}x ${reason}`);
  const remarks = [...why, ...leftovers];
  return `${fault}: ${parts.join(", ")}${remarks.length > 0 ? ` [${remarks.join("; ")}]` : ""}`;
}

/** The bars, over all faults together. */
function addRows(): void {
  const sum = (pick: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, outcome) => total + pick(outcome), 0);
  const never: readonly (readonly [string, number])[] = [
    ["failedUndelivered", sum(({ failedUndelivered }) => failedUndelivered)],
    ["doubled", sum(({ doubled }) => doubled)],
    ["overCapacity", sum(({ overCapacity }) => overCapacity)],
    ["leaked", sum(({ leaked }) => leaked)],
    ["not_measured", broken.length],
  ];
  for (const [name, value] of never) {
    report.row({ id: `faults.${name}`, value, unit: "count", must: "0", goal: "0" });
  }
  const idle = Math.max(0, ...outcomes.map((outcome) => outcome.idleBesideWaitingMsMax));
  report.row({ id: "faults.idle_beside_waiting.max", value: idle, unit: "ms", goal: "<= 20" });
}

function finish(why = ""): void {
  addRows();
  if (why === "") report.complete();
  else report.note(why);
  const finished = report.report();
  for (const row of finished.rows) print(`${row.id} ${row.value} ${row.unit}: ${row.verdict}`);
  if (values.json !== undefined) writeReport(finished, values.json);
  process.exitCode = exitCodeOf(finished);
  if (why !== "") process.exit();
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
