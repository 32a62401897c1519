/**
 * `npm run test:protocols`: every protocol that passes, with real clients, on real processes: through
 * activator and queue-proxy, and through the queue-proxy alone. Ends with 0 only when all rows pass.
 *
 *   npm run test:protocols -- --json FILE [--only TEXT] [--long]
 */
import { parseArgs } from "node:util";
import { errorText } from "../../common/errors.ts";
import { exitCodeOf, ReportBuilder, writeReport } from "../../foundation/report.ts";
import { noteStore } from "../support/note-store.ts";
import { PACE } from "./pace.ts";
import { PATHS } from "./row.ts";
import type { PathName, ProtocolRow } from "./row.ts";
import { DRAIN_ROWS } from "./rows/drain.ts";
import { HTTP1_ROWS } from "./rows/http1.ts";
import { HTTP2_ROWS } from "./rows/http2.ts";
import { INTEGRITY_ROWS } from "./rows/integrity.ts";
import { STREAM_ROWS } from "./rows/streams.ts";
import { TIMER_ROWS } from "./rows/timers.ts";
import { Stage } from "./stage.ts";

const ROWS = [
  ...TIMER_ROWS,
  ...DRAIN_ROWS,
  ...HTTP1_ROWS,
  ...STREAM_ROWS,
  ...HTTP2_ROWS,
  ...INTEGRITY_ROWS,
];

const { values } = parseArgs({
  options: {
    json: { type: "string" },
    only: { type: "string" },
    // Read by `pace.ts`, which the rows are made with.
    long: { type: "boolean" },
  },
});
const report = new ReportBuilder("test:protocols");
let passed = 0;
let failed = 0;

const runs = ROWS.filter(
  ({ row }) => values.only === undefined || new RegExp(values.only).test(row),
).flatMap((row) =>
  PATHS.filter((path) => row.only === undefined || row.only === path).map((path) => ({
    row,
    path,
  })),
);
if (runs.length === 0) throw new Error(`No row has "${values.only}" in its name`);
process.on("SIGINT", () => finish());
process.on("SIGTERM", () => finish());

await noteStore(report);
const stage = await Stage.open();
try {
  await Promise.all([besideLane(), mainLane()]);
  if (!stage.isAlive) report.note("A process of the product ended during the run.");
  if (!stage.isAlive) failed += 1;
  report.complete();
} finally {
  await stage.close();
  finish();
}

/** What waits, all at once; then what starts processes, in turn. */
async function besideLane(): Promise<void> {
  const waiting = runs.filter(({ row }) => row.waits === true);
  await Promise.all(waiting.map(({ row, path }) => runRow(row, path)));
  const starting = runs.filter(({ row }) => row.startsProcess === true);
  for (const { row, path } of starting) await runRow(row, path);
}

async function mainLane(): Promise<void> {
  const others = runs.filter(({ row }) => row.waits !== true && row.startsProcess !== true);
  for (const { row, path } of others) await runRow(row, path);
}

async function runRow(row: ProtocolRow, path: PathName): Promise<void> {
  const startedAt = performance.now();
  let why = "";
  try {
    await withinLimit(row.run(stage.place(path)));
  } catch (error) {
    why = errorText(error);
  }
  const verdict = why === "" ? "pass" : "fail";
  if (why === "") passed += 1;
  else failed += 1;
  report.addToTable("protocols", { row: row.row, path, client: row.client, verdict });
  if (why !== "") report.note(`${row.row}, ${path}: ${why}`);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  print(
    `${verdict}  ${path.padEnd(21)}  ${row.row}  (${row.client}, ${seconds} s)${why === "" ? "" : `\n      ${why}`}`,
  );
}

async function withinLimit(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`not done in ${PACE.rowLimitMs / 1_000} s`)),
      PACE.rowLimitMs,
    );
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function finish(): never {
  report.row({
    id: "protocols.failed",
    value: failed,
    unit: "rows",
    n: passed + failed,
    must: "0",
    goal: "0",
  });
  const finished = report.report();
  if (values.json !== undefined) writeReport(finished, values.json);
  print(`\n${passed} of ${passed + failed} rows pass`);
  process.exit(exitCodeOf(finished));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
