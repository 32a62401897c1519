/** The demo's figures in the form that every proof command shares. */
import type { ColdStartRecord } from "../../common/contracts/channels.ts";
import type { Report, ReportBuilder } from "../../foundation/report.ts";
import type { DemoService, PodCounts } from "./platform-view.ts";
import type { Tally } from "./tally.ts";
import { percentile } from "./waterfall.ts";

/** Names of the one service whose pods take one request at a time, and of the bar on its pods. */
const OCR = "ocr";

export interface MeasuredStart {
  readonly record: ColdStartRecord;
  /** The platform's own part in ms; `null` when it cannot be told. */
  readonly platformMs: number | null;
}

export interface DemoFigures {
  readonly builder: ReportBuilder;
  readonly tally: Tally;
  readonly counts: PodCounts;
  readonly services: readonly DemoService[];
  readonly coldStarts: readonly MeasuredStart[];
  readonly notAtZero: number;
  /** Most pages that one container ever had at once, as the containers counted. */
  readonly largestInContainer: number;
  /** From the start of the platform to its stop. */
  readonly seconds: number;
}

export function buildReport(figures: DemoFigures): Report {
  const { builder } = figures;
  addRows(figures);
  for (const { name } of figures.services) {
    const { requests, byStatus } = figures.tally.of(name);
    builder.addToTable("services", {
      service: name,
      requests,
      answers: byStatus,
      pods_max: figures.counts.largest(name),
      pods_last: figures.counts.existing(name),
    });
  }
  for (const start of figures.coldStarts) {
    builder.addToTable("coldstarts", coldStartEntry(start));
  }
  return builder.report();
}

function addRows(figures: DemoFigures): void {
  const { builder, tally, counts, coldStarts } = figures;
  const shares = coldStarts.map(({ platformMs }) => platformMs).filter((share) => share !== null);
  builder.row({
    id: "demo.answers.not_2xx",
    value: tally.notSuccessful,
    unit: "count",
    n: tally.total,
    must: "0",
    goal: "0",
  });
  const pods = { unit: "pods", must: ">= 3", goal: ">= 3" };
  builder.row({ id: "demo.ocr.pods.max", value: counts.largest(OCR), ...pods });
  const zero = { unit: "count", must: "0", goal: "0" };
  builder.row({ id: "demo.services.not_at_zero", value: figures.notAtZero, ...zero });
  addShare(builder, shares, { name: "p50", share: 0.5, goal: "<= 50" });
  addShare(builder, shares, { name: "p95", share: 0.95, goal: "<= 150" });
  builder.row({
    id: "demo.concurrency1.violations",
    value: Math.max(0, figures.largestInContainer - 1),
    ...zero,
  });
  builder.row({ id: "demo.seconds", value: figures.seconds, unit: "s", goal: "<= 90" });
}

function addShare(
  builder: ReportBuilder,
  shares: readonly number[],
  bar: { readonly name: string; readonly share: number; readonly goal: string },
): void {
  const id = `demo.coldstart.platform.${bar.name}`;
  if (shares.length === 0) {
    builder.row({ id, value: null, unit: "ms", why: "no cold start was recorded with its marks" });
    return;
  }
  const value = Math.round(percentile(shares, bar.share) * 10) / 10;
  builder.row({ id, value, unit: "ms", n: shares.length, goal: bar.goal });
}

function coldStartEntry({ record, platformMs: share }: MeasuredStart): Record<string, unknown> {
  const since = (at: number | null): number | null =>
    at === null ? null : Math.round((at - record.requestAt) * 10) / 10;
  return {
    service: record.service,
    decision_ms: since(record.decidedAt),
    process_ms: since(record.spawnedAt),
    sidecar_ms: since(record.sidecarAt),
    listening_ms: since(record.listeningAt),
    ready_ms: since(record.readyAt),
    dispatched_ms: since(record.dispatchedAt),
    first_byte_ms: since(record.firstByteAt),
    platform_ms: share === null ? null : Math.round(share * 10) / 10,
  };
}
