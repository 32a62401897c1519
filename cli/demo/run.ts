/**
 * The whole demo: platform up, four acts, summary, platform down. Ctrl-C at any moment ends the
 * act that runs, stops everything and still writes the report, marked incomplete.
 */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ColdStartRecord } from "../../common/contracts/channels.ts";
import { ReportBuilder, exitCodeOf, writeReport } from "../../foundation/report.ts";
import type { Report } from "../../foundation/report.ts";
import { backToZero, fromZero, scaleOut, shareOf, streams } from "./acts.ts";
import type { Stage } from "./acts.ts";
import { createCaller } from "./http.ts";
import { startDemoPlatform } from "./local-platform.ts";
import type { DemoPlatform } from "./platform-view.ts";
import { PodCounts } from "./platform-view.ts";
import { buildReport } from "./report.ts";
import { printSummary } from "./summary.ts";
import { Tally } from "./tally.ts";
import type { Terminal } from "./terminal.ts";
import { formatMs } from "./waterfall.ts";

const STOP_GRACE_MS = 3_000;
const NEXT = "Next: `npm start -- examples/*/service.yaml` runs the same services until Ctrl-C.";

export interface DemoOptions {
  readonly terminal: Terminal;
  /** Public port; 0 picks a free one. */
  readonly port: number;
  readonly jsonFile?: string;
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
}

export async function runDemo(options: DemoOptions): Promise<number> {
  const builder = new ReportBuilder("demo");
  const folder = join(tmpdir(), `pilotlight-demo-${randomUUID().slice(0, 8)}`);
  try {
    // Made by the platform: when this process is killed, its watchdog clears it away.
    const report = await perform(options, builder, folder);
    if (options.jsonFile !== undefined) writeReport(report, options.jsonFile);
    return exitCodeOf(report);
  } catch (error) {
    // A demo that cannot start or breaks still leaves its report, marked incomplete.
    if (options.jsonFile !== undefined) writeReport(builder.report(), options.jsonFile);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function perform(
  options: DemoOptions,
  builder: ReportBuilder,
  runFolder: string,
): Promise<Report> {
  const { terminal, signal } = options;
  const startedAt = performance.now();
  const troubles: string[] = [];
  terminal.heading("Pilotlight: serverless GPUs on this machine");
  terminal.live("starting Valkey, two activators, autoscaler and dashboard ...");
  const platform = await startDemoPlatform({
    port: options.port,
    runFolder,
    onEvent: (event) => {
      if (event.level !== "info") troubles.push(`${event.subject} ${event.text}`.trim());
    },
  });
  const stage = openStage(platform, terminal, signal);
  try {
    introduce(stage, performance.now() - startedAt);
    const notAtZero = await playActs(stage);
    const report = await close(stage, { builder, notAtZero, startedAt });
    printSummary(terminal, report, [...troubles, ...stage.tally.troubles()]);
    return report;
  } finally {
    stage.counts.stop();
    stage.caller.close();
    terminal.live("stopping ...");
    await platform.stop(signal.aborted ? 0 : STOP_GRACE_MS);
    terminal.settle("Stopped; nothing is left running.");
    if (!signal.aborted) terminal.line(NEXT);
  }
}

function openStage(platform: DemoPlatform, terminal: Terminal, signal: AbortSignal): Stage {
  const counts = new PodCounts(platform);
  return {
    platform,
    terminal,
    signal,
    counts,
    caller: createCaller(),
    tally: new Tally(),
    pagesAtOnce: [],
    containerReadyAt: new Map(),
  };
}

function introduce({ terminal, platform }: Stage, tookMs: number): void {
  terminal.settle(
    `Up after ${formatMs(tookMs)}, with ${platform.services().length} services and no pod.`,
  );
  terminal.line(
    `  services   ${platform
      .services()
      .map(({ name }) => name)
      .join(", ")}`,
  );
  const port = new URL(platform.ingressUrl).port;
  terminal.line(`  URLs       http://NAME.default.localhost:${port}`);
  terminal.line(`  dashboard  ${platform.dashboardUrl}`);
  terminal.line(`  store      ${platform.store}`);
}

/** Returns how many services are not at zero; all of them when the demo was cut. */
async function playActs(stage: Stage): Promise<number> {
  for (const act of [fromZero, scaleOut, streams]) {
    if (!stage.signal.aborted) await act(stage);
  }
  if (stage.signal.aborted) return stage.platform.services().length;
  return (await backToZero(stage)).length;
}

interface Closing {
  readonly builder: ReportBuilder;
  readonly notAtZero: number;
  readonly startedAt: number;
}

async function close(stage: Stage, closing: Closing): Promise<Report> {
  const { platform, tally, counts, signal } = stage;
  const { builder, notAtZero, startedAt } = closing;
  if (!signal.aborted) builder.complete();
  builder.store(platform.storeVersion, platform.storeIsRedis);
  return buildReport({
    builder,
    tally,
    counts,
    notAtZero,
    services: platform.services(),
    coldStarts: (await allColdStarts(platform)).map((record) => ({
      record,
      platformMs: shareOf(stage, record),
    })),
    largestInContainer: Math.max(0, ...stage.pagesAtOnce),
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
  });
}

async function allColdStarts(platform: DemoPlatform): Promise<readonly ColdStartRecord[]> {
  const records = await Promise.all(
    platform.services().map(({ name }) => platform.coldStarts(name)),
  );
  return records.flat().toSorted((left, right) => left.requestAt - right.requestAt);
}
