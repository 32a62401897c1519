/**
 * Messages that travel over Valkey's pub/sub. Each is a hint: a lost one is repaired by a
 * fallback timer or the next resync, never fatal.
 */
import type { RevisionKey } from "./routing.ts";

/** On the activator's own channel: a slot was reserved for one of its waiting requests. */
export interface Assignment {
  readonly revision: RevisionKey;
  /** The id under which the request was enqueued, which is now the id of the lease. */
  readonly leaseId: string;
  readonly targetUid: string;
  /** `ip:port` of the sidecar. */
  readonly address: string;
  /** Server time in us. */
  readonly arrivedAt: number;
  readonly grantedAt: number;
  /** Of a ranked call: class, key in us and estimate on this target in us. */
  readonly orderClass?: 0 | 1;
  readonly orderKeyUs?: number;
  readonly workUs?: number;
}

/** On the wake channel: a request waits that the present pods may not serve soon. */
export type WakeMessage = RevisionKey;

/** On the config channel: the configuration of a revision changed. */
export type ConfigMessage = RevisionKey;

/** One finished cold start, as the first request that waited for it saw it. All in ms. */
export interface ColdStartRecord {
  readonly revision: RevisionKey;
  readonly service: string;
  readonly requestId: string;
  readonly podUid: string;
  /** Instants, ms since the epoch with fractions. */
  readonly requestAt: number;
  readonly decidedAt: number | null;
  readonly spawnedAt: number | null;
  readonly sidecarAt: number | null;
  readonly listeningAt: number | null;
  readonly readyAt: number | null;
  readonly dispatchedAt: number;
  readonly firstByteAt: number;
}
