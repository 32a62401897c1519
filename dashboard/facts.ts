/**
 * What the dashboard is told: plain facts that travel to the page as they are. Apart from the ports,
 * so that the page's own type check needs nothing of Node.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { RevisionKnowledge } from "../common/hexgen/knowledge.ts";

export interface RunInfo {
  readonly mode: "local" | "cluster";
  /** Instant, ms since the epoch. */
  readonly startedAt: number;
  /** Base URL on which services answer. */
  readonly ingressUrl: string;
  /** Shown as it is, so without a password. */
  readonly storeUrl: string;
  readonly version: string;
  /** Price of a card for an hour, by its name, `*` for all others; absent: prices are not known. */
  readonly cardPrices?: Readonly<Record<string, number>>;
}

export interface ServiceInfo {
  readonly namespace: string;
  readonly name: string;
  readonly url: string;
  /** It takes asynchronous calls. */
  readonly takesRuns?: boolean;
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
  /** Price of its pods over the base price of their cards; 2 for protected ones. */
  readonly priceFactor: number;
  /** Why pods do not start, in a sentence; empty when all is well. */
  readonly problem: string;
}

export interface ScalerInfo {
  /** Pods wanted. */
  readonly desiredScale: number;
  /** Recent decisions, oldest first; the dashboard shows the last twenty that changed the number of pods. */
  readonly decisions: readonly DecisionInfo[];
  /** Speed of cards and weight of speed; absent where calls are not ranked. */
  readonly learnt?: RevisionKnowledge;
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
  /** Requests that wait and run at it, and pods that push to it; absent while it did not answer. */
  readonly waiting?: number;
  readonly running?: number;
  readonly pods?: number;
}
