/**
 * What an activator tells of its requests beside the metrics page: totals since it first saw each
 * revision, for whoever shows the last minute. Histograms have the buckets of the metrics.
 */
import type { RevisionKey } from "./routing.ts";

/** Where the time of a request goes, in the order in which it is spent. */
export const LATENCY_PHASES = ["queue", "coldStart", "connect", "upstream", "response"] as const;
export type LatencyPhase = (typeof LATENCY_PHASES)[number];

export interface PhaseTotals {
  /** Observations per bucket, the last one everything above. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export interface RevisionTotals {
  readonly revision: RevisionKey;
  readonly waiting: number;
  readonly running: number;
  readonly pods: number;
  readonly requests: number;
  /** Errors that callers got, and those that were cut, by reason. */
  readonly errors: Readonly<Record<string, number>>;
  readonly phases: Readonly<Record<LatencyPhase, PhaseTotals>>;
}

export interface ActivatorFigures {
  readonly activatorId: string;
  /** The store is away: it serves its own pods only. */
  readonly degraded: boolean;
  /** Upper bounds of the buckets in ms. */
  readonly boundsMs: readonly number[];
  readonly revisions: readonly RevisionTotals[];
}

export const FIGURES_PATH = "/v1/figures";
