/**
 * `pilotlight demo --cells`: three cells on this machine and one URL over them. A first request, a
 * burst that one cell cannot hold, a cell that is lost; each answer says who served it.
 */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
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
/** Where all requests of the demo enter. */
const ENTRY = "eu";
const BURST = 12;
const WORK_MS = 1_000;
const LIMIT_MS = 90_000;
const HEARD_MS = 60_000;
const STOP_GRACE_MS = 1_000;

interface Stage {
  readonly cells: LocalCells;
  readonly terminal: Terminal;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly answers: CallResult[];
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
  terminal.heading("1. Nobody has a pod: one request starts one");
  await act(stage, 1);
  terminal.heading(`2. ${BURST} requests at one moment enter at ${ENTRY}`);
  await act(stage, BURST);
  terminal.heading("3. The power of us fails");
  await cells.stopCell("us");
  await act(stage, BURST / 2);
  signal.throwIfAborted();
}

async function act(stage: Stage, count: number): Promise<void> {
  const { terminal, caller, signal, cells, answers } = stage;
  signal.throwIfAborted();
  const via = cells.platforms.get(ENTRY)?.urls.ingress ?? "";
  let done = 0;
  const calls = Array.from({ length: count }, async () => {
    const path = `/sleep?ms=${WORK_MS}`;
    const answer = await caller.call({ via, host: HOST, path, limitMs: LIMIT_MS, signal });
    done += 1;
    terminal.live(`${done} of ${count} answered`);
    return answer;
  });
  const results = await Promise.all(calls);
  answers.push(...results);
  drawBars(terminal, results);
}

/** A bar per cell: how many it served, and how long they took in the middle. */
function drawBars(terminal: Terminal, results: readonly CallResult[]): void {
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

function cellOf({ serverTiming }: CallResult): string {
  return /(?:^|, )cell;desc="([^"]+)"/.exec(serverTiming)?.[1] ?? ENTRY;
}

async function everybodyHeard({ cells, signal }: Stage): Promise<void> {
  const deadline = performance.now() + HEARD_MS;
  for (;;) {
    signal.throwIfAborted();
    const records = cells.platforms.get(ENTRY)?.activators() ?? [];
    const page = await readCellsPage(records).catch(() => null);
    const known = page?.cells.filter(({ isFresh, services }) => isFresh && services.length > 0);
    if (known?.length === CELLS.length) return;
    if (performance.now() > deadline) throw new Error("The cells have not heard of each other.");
    await delay(200, undefined, { signal });
  }
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
  const elsewhere = answers.filter((answer) => cellOf(answer) !== ENTRY).length;
  terminal.heading("Summary");
  const isWhole = good === answers.length;
  const words = `${good} of ${answers.length} requests answered, ${elsewhere} of them by another cell`;
  terminal.line(`  ${isWhole ? paint.green(words) : paint.red(words)}`);
  terminal.line(
    paint.dim("  Next: npx pilotlight up --cells eu,us=80ms,ap=200ms examples/echo/cells.yaml"),
  );
  return isWhole ? 0 : 1;
}
