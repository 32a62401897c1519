/**
 * What every request shares in this process: the parts that decide about it and count it, and the
 * set of those that are open. One object, made once, handed to each flow.
 */
import type { Clock } from "../common/clock.ts";
import type { Logger } from "../foundation/logger.ts";
import type { Exchange } from "../proxy/types.ts";
import type { QueueProxyConfig } from "./config.ts";
import type { Breaker } from "./core/breaker.ts";
import type { Occupancy } from "./core/occupancy.ts";
import type { Readiness } from "./core/readiness.ts";
import type { RequestStats } from "./core/request-stats.ts";
import type { Drainer } from "./drainer.ts";
import type { RequestMetrics } from "./metrics.ts";
import type { Pod } from "./pod.ts";

export interface DataPath {
  readonly clock: Clock;
  readonly config: QueueProxyConfig;
  readonly podUid: () => string;
  readonly pod: Pod;
  readonly readiness: Readiness;
  readonly breaker: Breaker;
  readonly occupancy: Occupancy;
  readonly drainer: Drainer;
  readonly stats: RequestStats;
  readonly metrics: RequestMetrics;
  readonly logger: Logger;
  /** How long a readiness probe may be kept waiting while the container starts. */
  readonly probeHoldMs: number;
  /** A request found nobody listening at the container's port. */
  readonly onContainerRefused: () => void;
  /** Whether somebody listens at the container's port. */
  readonly isContainerListening: () => Promise<boolean>;
  readonly flows: Set<OpenFlow>;
}

/** A request that runs or waits here. */
export interface OpenFlow {
  readonly exchange: Exchange;
  /** The pod drains: a leased request that only waits here goes back to the activator. */
  handBack(): void;
  /** Ends it because the pod's time is over. */
  terminate(): void;
}
