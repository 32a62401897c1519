/**
 * A cold start as a timeline, drawn with text: which part took how long, and which of it is the
 * platform's own share (all but the container's process start and model load).
 */
import type { ColdStartRecord } from "../../common/contracts/channels.ts";

export interface StartPart {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** The container's own time, not the platform's. */
  readonly own: boolean;
}

/**
 * Parts of a start in order, in ms from the request. Instants that are unknown are skipped, so
 * that the parts always cover the time from request to first byte without a gap.
 */
export function partsOf(record: ColdStartRecord): StartPart[] {
  const steps: readonly (readonly [string, number | null, boolean])[] = [
    ["decision", record.decidedAt, false],
    ["process", record.spawnedAt, false],
    ["listening", record.listeningAt, true],
    ["ready pushed", record.readyAt, true],
    ["dispatched", record.dispatchedAt, false],
    ["first byte", record.firstByteAt, true],
  ];
  const parts: StartPart[] = [];
  let from = 0;
  for (const [name, at, own] of steps) {
    if (at === null) continue;
    const to = Math.max(from, at - record.requestAt);
    parts.push({ name, fromMs: from, toMs: to, own });
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

/** Lines such as `listening  ····████████····  312 ms`. */
export function drawWaterfall(record: ColdStartRecord, width = 48): string[] {
  const parts = partsOf(record);
  const total = parts.at(-1)?.toMs ?? 0;
  const scale = (ms: number): number => (total === 0 ? 0 : Math.round((ms / total) * width));
  return parts.map((part) => {
    const from = scale(part.fromMs);
    const length = Math.max(1, scale(part.toMs) - from);
    const before = "·".repeat(Math.min(from, width - 1));
    const block = (part.own ? "▒" : "█").repeat(Math.min(length, width - before.length));
    const after = "·".repeat(Math.max(0, width - before.length - block.length));
    return `${part.name.padEnd(12)} ${before}${block}${after} ${formatMs(part.toMs - part.fromMs).padStart(9)}`;
  });
}

export function formatMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Nearest-rank percentile of a list, 0 for an empty one. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
