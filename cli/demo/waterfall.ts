/**
 * A cold start as a timeline, drawn with text: which part took how long, and which of it is the
 * platform's own share (all but the container's process start and model load).
 */
import type { ColdStartRecord } from "../../common/contracts/channels.ts";

export interface StartPart {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly owner: Owner;
}

/** Whose time a part is: the container's start and its answer are not the platform's. */
export type Owner = "platform" | "container" | "answer";

export interface WaterfallStyle {
  /** Characters for the bar. */
  readonly width?: number;
  readonly paint?: Readonly<Record<Owner, (text: string) => string>>;
}

const BLOCK: Readonly<Record<Owner, string>> = { platform: "█", container: "▒", answer: "░" };
const PLAIN = (text: string): string => text;
const NO_PAINT = { platform: PLAIN, container: PLAIN, answer: PLAIN };

/**
 * Parts of a start in order, in ms from the request. Instants that are unknown are skipped, so
 * that the parts always cover the time from request to first byte without a gap.
 */
export function partsOf(record: ColdStartRecord): StartPart[] {
  const steps: readonly (readonly [string, number | null, Owner])[] = [
    ["decide", record.decidedAt, "platform"],
    ["create", record.spawnedAt, "platform"],
    ["boot", record.listeningAt, "container"],
    ["load", record.readyAt, "container"],
    ["dispatch", record.dispatchedAt, "platform"],
    ["answer", record.firstByteAt, "answer"],
  ];
  const parts: StartPart[] = [];
  let from = 0;
  for (const [name, at, owner] of steps) {
    if (at === null) continue;
    const to = Math.max(from, at - record.requestAt);
    parts.push({ name, fromMs: from, toMs: to, owner });
    from = to;
  }
  return parts;
}

/**
 * Request received to dispatched, less the container's own exec to ready, in ms. The container's
 * end is what the container itself says; what the sidecar took to start or to notice is ours. `null`
 * when the marks are missing, or the pod was already starting when the request came.
 */
export function platformShareMs(record: ColdStartRecord, containerReadyAt: number): number | null {
  if (record.spawnedAt === null || containerReadyAt === 0) return null;
  if (record.spawnedAt < record.requestAt) return null;
  const own = Math.min(containerReadyAt, record.dispatchedAt) - record.spawnedAt;
  return record.dispatchedAt - record.requestAt - own;
}

/** Lines such as `boot      ····▒▒▒▒▒▒▒▒····  312 ms`; the parts have the names of the dashboard. */
export function drawWaterfall(record: ColdStartRecord, style: WaterfallStyle = {}): string[] {
  const { width = 48, paint = NO_PAINT } = style;
  const parts = partsOf(record);
  const total = parts.at(-1)?.toMs ?? 0;
  const scale = (ms: number): number => (total === 0 ? 0 : Math.round((ms / total) * width));
  return parts.map((part) => {
    const from = scale(part.fromMs);
    const length = Math.max(1, scale(part.toMs) - from);
    const before = "·".repeat(Math.min(from, width - 1));
    const block = BLOCK[part.owner].repeat(Math.min(length, width - before.length));
    const after = "·".repeat(Math.max(0, width - before.length - block.length));
    const bar = `${before}${paint[part.owner](block)}${after}`;
    return `${part.name.padEnd(9)} ${bar} ${formatMs(part.toMs - part.fromMs).padStart(8)}`;
  });
}

/** What the blocks of a waterfall stand for, and the platform's share where it is known. */
export function waterfallLegend(shareMs: number | null): string {
  const share = shareMs === null ? "" : `; the platform took ${formatMs(shareMs)}`;
  return `${BLOCK.platform} platform  ${BLOCK.container} container starts  ${BLOCK.answer} it answers${share}`;
}

export function formatMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** Nearest-rank percentile of a list, 0 for an empty one. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
