/**
 * What this activator holds of one revision: its configuration, the leases of its running
 * requests, the tickets of its waiting ones, its counters. Resolved once per request.
 */
import { ChurnMap } from "../common/churn-map.ts";
import type { RevisionConfig, RevisionKey } from "../common/contracts/routing.ts";
import type { Lease } from "../store/types.ts";
import { RevisionMetrics } from "./metrics.ts";
import type { Ticket } from "./ticket.ts";

export class RevisionEntry {
  readonly key: RevisionKey;
  /** Null until the store has it. */
  config: RevisionConfig | null = null;
  /** Leases of live requests here; what is put back after a loss of the store. */
  readonly leases = new ChurnMap<Lease>();
  /** Those of them that were made without the store, which has not heard of them. */
  readonly ownLeases = new Set<string>();
  readonly tickets = new ChurnMap<Ticket>();
  /** Pods of this revision that push to this activator. */
  readonly pods = new Set<string>();
  /** Instant of the last request or push. */
  usedAt: number;
  /** Instant of the last read of the configuration. */
  readAt = 0;
  /** Mean time of late from the sending of a request to the head of its answer; 0 before the first. */
  answerMs = 0;
  /** Targets as of the last report; for the heartbeat period. */
  targets = 0;
  #metrics: RevisionMetrics;

  constructor(key: RevisionKey, now: number) {
    this.key = key;
    this.usedAt = now;
    this.#metrics = new RevisionMetrics(key, "");
  }

  get metrics(): RevisionMetrics {
    return this.#metrics;
  }

  get busy(): boolean {
    return this.leases.size > 0 || this.tickets.size > 0;
  }

  /** What is put back into the store; from here on it must hear of their ends. */
  leasesToPutBack(): readonly Lease[] {
    this.ownLeases.clear();
    return [...this.leases.values()];
  }

  configure(config: RevisionConfig, now: number): void {
    // The service is known only now; nothing was counted before, since nothing could run.
    if (this.#metrics.service === "" && config.service !== "") {
      this.#metrics = new RevisionMetrics(this.key, config.service);
    }
    this.config = config;
    this.readAt = now;
  }
}
