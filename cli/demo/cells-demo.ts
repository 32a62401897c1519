/**
 * `pilotlight demo --cells`: three cells on this machine and one URL over them. A first request in
 * one, then others that enter elsewhere and go where its slot is, a burst, a cell that is lost; each
 * answer says who served it and why.
 */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { CellsPage } from "../../common/contracts/cells-page.ts";
import { readCellsPage } from "../../local/activator-figures.ts";
import { startCells } from "../../local/cells.ts";
import type { CellSpec, LocalCells } from "../../local/cells.ts";
import type { Caller, CallResult } from "./http.ts";
import { createCaller } from "./http.ts";
import type { Terminal } from "./terminal.ts";
import { formatMs } from "./waterfall.ts";

const SERVICE = fileURLToPath(new URL("../../examples/echo/cells.yaml", import.meta.url));
const HOST = "echo.default.localhost";
const CELLS: readonly CellSpec[] = [
  { name: "eu", roundTripMs: 0 },
  { name: "us", roundTripMs: 80 },
  { name: "ap", roundTripMs: 200 },
];
/** Where the first request enters, and where all others do. */
const FIRST_ENTRY = "us";
const ENTRY = "eu";
const VISITORS = 3;
const BURST = 12;
const WORK_MS = 1_000;
const LIMIT_MS = 90_000;
const HEARD_MS = 60_000;
/** Any other cell has a free slot that requests of the entry may be sent to. */
const SLOT_HEARD_MS = 10_000;
const LOOK_EVERY_MS = 100;
const STOP_GRACE_MS = 1_000;

interface Stage {
  readonly cells: LocalCells;
  readonly terminal: Terminal;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly answers: Answer[];
}

interface Answer extends CallResult {
  readonly entry: string;
}

/** 0 when every request was answered. */
export async function runCellsDemo(terminal: Terminal, signal: AbortSignal): Promise<number> {
  const runFolder = join(tmpdir(), `pilotlight-cells-${randomUUID().slice(0, 8)}`);
  const caller = createCaller();
  let cells: LocalCells | undefined;
  terminal.heading("Pilotlight: one URL over three cells");
  try {
    terminal.live("starting three platforms, each with a store of its own ...");
    cells = await startCells({ cells: CELLS, files: [SERVICE], port: 0, runFolder });
    const stage = { cells, terminal, caller, signal, answers: [] };
    await everybodyHeard(stage);
    drawMap(stage);
    await play(stage);
    return summarize(stage);
  } finally {
    terminal.live("stopping ...");
    caller.close();
    await cells?.stop(STOP_GRACE_MS);
    await rm(runFolder, { recursive: true, force: true });
    await rm(`${runFolder}-words`, { recursive: true, force: true });
    terminal.settle("");
  }
}

async function play(stage: Stage): Promise<void> {
  const { terminal, cells, signal } = stage;
  terminal.heading(`1. Nobody has a pod: a request that enters at ${FIRST_ENTRY} starts one`);
  await act(stage, { entry: FIRST_ENTRY, count: 1 });
  terminal.heading(`2. ${VISITORS} more enter at ${ENTRY}, one by one: the free slot is elsewhere`);
  for (let visitor = 0; visitor < VISITORS; visitor += 1) {
    await until(stage, hasSlotElsewhere, SLOT_HEARD_MS);
    await act(stage, { entry: ENTRY, count: 1 });
  }
  drawChoice(stage);
  terminal.heading(
    `3. ${BURST} at one moment enter at ${ENTRY}: one finds the slot, ${ENTRY} starts pods`,
  );
  await until(stage, hasSlotElsewhere, SLOT_HEARD_MS);
  await act(stage, { entry: ENTRY, count: BURST });
  terminal.heading(`4. The power of ${FIRST_ENTRY} fails`);
  await cells.stopCell(FIRST_ENTRY);
  await act(stage, { entry: ENTRY, count: BURST / 2 });
  signal.throwIfAborted();
}

async function act(
  stage: Stage,
  { entry, count }: { readonly entry: string; readonly count: number },
): Promise<void> {
  const { terminal, caller, signal, cells, answers } = stage;
  signal.throwIfAborted();
  const via = cells.platforms.get(entry)?.urls.ingress ?? "";
  let done = 0;
  const calls = Array.from({ length: count }, async () => {
    const path = `/sleep?ms=${WORK_MS}`;
    const answer = await caller.call({ via, host: HOST, path, limitMs: LIMIT_MS, signal });
    done += 1;
    terminal.live(`${done} of ${count} answered`);
    return { ...answer, entry };
  });
  const results = await Promise.all(calls);
  answers.push(...results);
  drawBars(terminal, results);
}

/** A bar per cell: how many it served, and how long they took in the middle. */
function drawBars(terminal: Terminal, results: readonly Answer[]): void {
  const { paint } = terminal;
  terminal.settle("");
  for (const { name } of CELLS) {
    const served = results.filter((result) => result.status === 200 && cellOf(result) === name);
    if (served.length === 0) continue;
    const times = served.map(({ totalMs }) => totalMs).toSorted((one, other) => one - other);
    const middle = formatMs(times[Math.floor(times.length / 2)] ?? 0);
    const cold = served.filter(({ coldStart }) => coldStart).length;
    const words = `${served.length} served, median ${middle}${cold > 0 ? `, ${cold} cold` : ""}`;
    terminal.line(`  ${name.padEnd(3)} ${paint.cyan("█".repeat(served.length * 2))} ${words}`);
  }
  const failed = results.filter(({ status }) => status !== 200);
  for (const { status, reason } of failed) terminal.line(paint.red(`  ${status} ${reason}`));
}

function cellOf({ serverTiming, entry }: Answer): string {
  return described("cell", serverTiming) ?? entry;
}

function described(name: string, serverTiming: string): string | undefined {
  return new RegExp(`(?:^|, )${name};desc="([^"]+)"`).exec(serverTiming)?.[1];
}

/** The reasons for each cell, as the last answer that another cell gave has them. */
function drawChoice({ terminal, answers }: Stage): void {
  const last = answers.findLast((answer) => cellOf(answer) !== answer.entry);
  const choice = described("choice", last?.serverTiming ?? "");
  if (choice !== undefined) terminal.line(terminal.paint.dim(`  ${choice}`));
}

async function everybodyHeard(stage: Stage): Promise<void> {
  const isKnown = ({ cells }: CellsPage): boolean =>
    cells.filter(({ isFresh, services }) => isFresh && services.length > 0).length === CELLS.length;
  if (!(await until(stage, isKnown, HEARD_MS))) {
    throw new Error("The cells have not heard of each other.");
  }
}

function hasSlotElsewhere({ cells }: CellsPage): boolean {
  return cells.some(
    ({ isHere, services }) => !isHere && services.some(({ offered }) => offered > 0),
  );
}

/** As all activators of the cell of entry see it; false when it was not so in time. */
async function until(
  { cells, signal }: Stage,
  isSo: (page: CellsPage) => boolean,
  limitMs: number,
): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    const records = cells.platforms.get(ENTRY)?.activators() ?? [];
    const read = records.map((record) => readCellsPage([record]).catch(() => null));
    const pages = await Promise.all(read);
    if (pages.length > 0 && pages.every((page) => page !== null && isSo(page))) return true;
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
  return false;
}

function drawMap({ terminal, cells }: Stage): void {
  const { paint } = terminal;
  terminal.settle("");
  const [home, ...others] = CELLS;
  terminal.line(`  callers ──► ${paint.bold(home?.name ?? "")}`);
  for (const { name, roundTripMs } of others) {
    terminal.line(
      `               ├── ${String(roundTripMs).padStart(3)} ms ── ${paint.bold(name)}`,
    );
  }
  const dashboard = cells.platforms.get(ENTRY)?.urls.dashboard ?? "";
  terminal.line(paint.dim(`  Dashboard: ${dashboard}/#/cells`));
}

function summarize({ terminal, answers }: Stage): number {
  const { paint } = terminal;
  const good = answers.filter(({ status }) => status === 200).length;
  const elsewhere = answers.filter((answer) => cellOf(answer) !== answer.entry).length;
  terminal.heading("Summary");
  const isWhole = good === answers.length;
  const words = `${good} of ${answers.length} requests answered, ${elsewhere} of them by another cell than they entered`;
  terminal.line(`  ${isWhole ? paint.green(words) : paint.red(words)}`);
  terminal.line(
    paint.dim("  Next: npx pilotlight up --cells eu,us=80ms,ap=200ms examples/echo/cells.yaml"),
  );
  return isWhole ? 0 : 1;
}
