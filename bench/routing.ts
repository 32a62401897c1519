/**
 * `npm run bench:routing`: what routing costs, at 10 to 50,000 targets of one revision and for every
 * policy. bench/README.md says what each part measures and how to read it.
 *
 *   npm run bench:routing -- --json bench/results/routing.json [--quick] [--only scripts,live]
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { ReportBuilder, exitCodeOf, writeReport } from "../foundation/report.ts";
import { formatTable } from "../foundation/text-table.ts";
import { startValkey } from "../test/support/valkey.ts";
import { openStore, serverInfo } from "./routing/bench.ts";
import type { RoutingBench } from "./routing/bench.ts";
import { measureHandOver } from "./routing/handover.ts";
import { measureLive } from "./routing/live.ts";
import { measureRebuild } from "./routing/rebuild.ts";
import { measureScripts } from "./routing/scripts.ts";
import { countViolations } from "./routing/violations.ts";

interface Part {
  readonly name: string;
  /** Rows that are missing when the part fails. */
  readonly rows: readonly string[];
  readonly run: (bench: RoutingBench) => Promise<void>;
}

const PARTS: readonly Part[] = [
  {
    name: "scripts",
    rows: [
      "bytes_per_target",
      "growth.50000_over_1000",
      "script.acquire.mean",
      "script.acquire.max",
    ],
    run: measureScripts,
  },
  {
    name: "handover",
    rows: ["handover.p50", "handover.p99", "handover.p50.over_notify", "handover.p99.over_notify"],
    run: measureHandOver,
  },
  {
    name: "live",
    rows: ["push_to_dispatch.p50", "push_to_dispatch.p90", "added.p50", "added.p90", "added.p99"],
    run: measureLive,
  },
  { name: "rebuild", rows: ["rebuild.10000", "rebuild.50000"], run: measureRebuild },
  { name: "violations", rows: ["capacity.violations"], run: countViolations },
];

const { values } = parseArgs({
  options: {
    json: { type: "string" },
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
});
const report = new ReportBuilder("bench:routing");
const chosen = values.only === "" ? PARTS : PARTS.filter(({ name }) => isChosen(name));
try {
  for (const part of chosen) await runPart(part);
  if (chosen.length === PARTS.length) report.complete();
} finally {
  noteConditions();
  const finished = report.report();
  print();
  if (values.json !== undefined) writeReport(finished, values.json);
  process.exitCode = exitCodeOf(finished);
}

function isChosen(name: string): boolean {
  return values.only.split(",").includes(name);
}

/** On a server of its own, so that no part sees the state of another one. */
async function runPart({ name, rows, run }: Part): Promise<void> {
  const server = await startValkey();
  const store = openStore(server);
  const known = new Set(report.report().rows.map(({ id }) => id));
  try {
    await store.ready();
    report.store(await serverInfo(server, "server", "valkey_version"), server.kind === "redis");
    await run({ server, store, report, quick: values.quick });
  } catch (error) {
    const measured = new Set(report.report().rows.map(({ id }) => id));
    console.error(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    for (const id of rows.map((row) => `routing.${row}`)) {
      if (measured.has(id) && !known.has(id)) continue;
      report.row({ id, value: null, unit: "", why: String(error) });
    }
  } finally {
    await store.close();
    await server.stop();
  }
}

function noteConditions(): void {
  const [load = 0] = loadavg();
  report.note(`Load average at the end: ${load.toFixed(1)}.`);
  if (values.quick) report.note("Quick run: few rounds and 20,000 choices; figures are rough.");
  if (values.only !== "") report.note(`Only these parts ran: ${values.only}.`);
}

function print(): void {
  const { rows, tables, notes, seconds } = report.report();
  const cells = rows.map(({ id, value, unit, ratio, must, goal, verdict }) => [
    id,
    value === null ? "not measured" : value.toPrecision(4),
    unit,
    ratio?.toPrecision(3) ?? "",
    must ?? "",
    goal ?? "",
    verdict,
  ]);
  console.log(formatTable(["id", "value", "unit", "ratio", "must", "goal", "verdict"], cells));
  for (const [name, entries] of Object.entries(tables)) {
    console.log(`\n${name}`);
    const header = Object.keys(entries[0] ?? {});
    console.log(
      formatTable(
        header,
        entries.map((entry) => header.map((key) => String(entry[key]))),
      ),
    );
  }
  for (const note of notes) console.log(`note: ${note}`);
  console.log(`${rows.length} rows, ${seconds} s`);
}
