/**
 * What the dashboard needs from the process that hosts it. It only reads: whoever wires it
 * (local/main.ts, later the autoscaler in a cluster) hands in functions and a part of the store.
 */
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RoutingStore } from "../store/types.ts";

export interface DashboardParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly run: RunInfo;
  /** Services as they stand now; called once per sample. */
  services(): readonly ServiceInfo[];
  readonly store: StoreReader;
  /** What the scaler last decided for a revision; undefined when it knows nothing of it. */
  scaler(key: RevisionKey): ScalerInfo | undefined;
  activators(): Promise<readonly ActivatorInfo[]> | readonly ActivatorInfo[];
  /** Time between two samples in ms. Default: 1000. */
  readonly sampleEveryMs?: number;
}

/** The part of the routing store that the dashboard reads. */
export type StoreReader = Pick<
  RoutingStore,
  "readFigures" | "readTargets" | "readColdStarts" | "listRevisions"
>;

export interface RunInfo {
  readonly mode: "local" | "cluster";
  /** Instant, ms since the epoch. */
  readonly startedAt: number;
  /** Base URL on which services answer. */
  readonly ingressUrl: string;
  /** Shown as it is, so without a password. */
  readonly storeUrl: string;
  readonly version: string;
}

export interface ServiceInfo {
  readonly namespace: string;
  readonly name: string;
  readonly url: string;
  readonly revisions: readonly RevisionInfo[];
}

export interface RevisionInfo {
  readonly key: RevisionKey;
  readonly name: string;
  /** Share of the traffic of the service, 0 to 100. */
  readonly percent: number;
  /** Slots per pod; 0 means no limit. */
  readonly containerConcurrency: number;
  /** Upper bound of pods; 0 means no limit. */
  readonly maxScale: number;
  readonly minScale: number;
  /** Why pods do not start, in a sentence; empty when all is well. */
  readonly problem: string;
}

export interface ScalerInfo {
  /** Pods wanted. */
  readonly desiredScale: number;
  /** Recent decisions, oldest first; the dashboard shows the last twenty. */
  readonly decisions: readonly DecisionInfo[];
}

export interface DecisionInfo {
  /** Instant, ms since the epoch. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
  /** In words, e.g. `3 requests wait and no pod is ready`. */
  readonly reason: string;
}

export interface ActivatorInfo {
  readonly id: string;
  readonly url: string;
  readonly state: "ready" | "degraded" | "down";
  /** In words; empty when all is well. */
  readonly reason: string;
  readonly pid?: number;
}
