/**
 * What requests saw of their targets, told to the store before the slot goes back, so that no
 * waiting request is sent where one has just failed. After a broken connection the sidecar is asked
 * first: a killed one may take connections for a while after its death, and each request sent into
 * that time would be lost the same way.
 */
import type { Lease, RoutingStore } from "../store/types.ts";
import type { Evidence } from "./core/retry.ts";
import type { DegradedMode } from "./degraded.ts";
import type { Probe } from "./probe-target.ts";
import type { ReleaseDetails, Returns } from "./returns.ts";
import type { RevisionEntry } from "./revision-entry.ts";

export interface WitnessOptions {
  readonly store: RoutingStore;
  readonly returns: Returns;
  readonly degraded: DegradedMode;
  readonly probe: Probe;
}

export interface Testimony {
  readonly entry: RevisionEntry;
  readonly lease: Lease;
  readonly evidence: Evidence;
  readonly release: ReleaseDetails;
}

export class Witness {
  readonly #options: WitnessOptions;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** Tells what was seen, and gives the slot back; the request does not wait for either. */
  leave(testimony: Testimony): void {
    const { evidence } = testimony;
    if (evidence === "reset" || evidence === "reset-reused") void this.#askFirst(testimony);
    else this.#leave(testimony, evidence);
  }

  /** The same without an end of the request: it goes on. */
  saw({ entry, lease, evidence }: Omit<Testimony, "release">): void {
    const { store, degraded } = this.#options;
    if (evidence === "none") return;
    if (degraded.has(entry)) return degraded.failed(lease.targetUid);
    store
      .reportEvidence(entry.key, lease.targetUid, lease.leaseId, evidence)
      // The store is away: the next request there finds the same, and so do heartbeats.
      .catch(() => {});
  }

  async #askFirst(testimony: Testimony): Promise<void> {
    const { targetUid, address } = testimony.lease;
    const answer = await this.#options.probe({ targetUid, address });
    this.#leave(testimony, answer === "silent" ? "connect-failed" : testimony.evidence);
  }

  #leave({ entry, lease, release }: Testimony, evidence: Evidence): void {
    this.saw({ entry, lease, evidence });
    this.#options.returns.release(entry, lease.leaseId, release);
  }
}
