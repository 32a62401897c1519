/** The one call that asks the store for a slot, and what the hold needs for it. */
import type { Clock } from "../common/clock.ts";
import type { Random } from "../common/random.ts";
import type { AcquireResult, RoutingStore } from "../store/types.ts";
import type { DegradedMode } from "./degraded.ts";
import type { Returns } from "./returns.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Ticket } from "./ticket.ts";

export interface HoldOptions {
  readonly store: RoutingStore;
  readonly returns: Returns;
  readonly degraded: DegradedMode;
  readonly activatorId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextLeaseId: () => string;
  /** The store does not know the revision, or nobody here does: read it, or write it back. */
  readonly load: (entry: RevisionEntry) => void;
}

export function askForSlot(
  { store, activatorId, random }: HoldOptions,
  ticket: Ticket,
): Promise<AcquireResult> {
  const call = ticket.holder.rank?.details;
  return store.acquireLease({
    revision: ticket.entry.key,
    activatorId,
    leaseId: ticket.leaseId,
    exclude: ticket.exclude,
    arrivedAt: ticket.arrivedAt,
    // A target that failed is avoided while another is free, but waited for like any other:
    // it may be the only one, and recover.
    mayWait: ticket.exclude.length === 0 && !ticket.onlyFree && !ticket.looksFirst,
    random: [random(), random()],
    ...(call === undefined ? {} : { call }),
  });
}
