/**
 * Without a store, or without the part of it that holds a revision: each pod is owned by the one activator that it pushes to, which routes to its
 * own pods only, from what they say themselves. The sidecar's own limit stands, so nothing is ever
 * admitted twice; a lease made here becomes the store's when it is back.
 */
import type { Clock } from "../common/clock.ts";
import type { Lease } from "../store/types.ts";
import type { PodSession } from "./pod-session.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Ticket } from "./ticket.ts";

/** A pod that failed is left out until it may have pushed again. */
const FAILED_MS = 1_000;
const US_PER_MS = 1_000;

export interface DegradedOptions {
  readonly clock: Clock;
  /** Pods of the revision that push to this activator. */
  readonly podsOf: (entry: RevisionEntry) => Iterable<PodSession>;
}

export class DegradedMode {
  readonly #options: DegradedOptions;
  /** Revisions without a store. */
  readonly #entries = new Set<RevisionEntry>();
  readonly #failedUntil = new Map<string, number>();
  #onFree: (entry: RevisionEntry) => void = () => {};

  constructor(options: DegradedOptions) {
    this.#options = options;
  }

  /** Some revision is served without a store. */
  get active(): boolean {
    return this.#entries.size > 0;
  }

  has(entry: RevisionEntry): boolean {
    return this.#entries.has(entry);
  }

  /** One listener: a slot of the revision may be free. */
  onFree(listener: (entry: RevisionEntry) => void): void {
    this.#onFree = listener;
  }

  enter(entry: RevisionEntry): void {
    this.#entries.add(entry);
  }

  leave(entry: RevisionEntry): void {
    this.#entries.delete(entry);
    if (!this.active) this.#failedUntil.clear();
  }

  /** Drops revisions that are not in use here any more. */
  prune(isUsed: (entry: RevisionEntry) => boolean): void {
    for (const entry of this.#entries) if (!isUsed(entry)) this.leave(entry);
  }

  /** The pod with the fewest requests from here that can take one more; null when there is none. */
  take(ticket: Ticket): Lease | null {
    const { entry, leaseId } = ticket;
    const counts = countByTarget(entry);
    let chosen: PodSession | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const pod of this.#options.podsOf(entry)) {
      const inFlight = counts.get(pod.facts.uid) ?? 0;
      if (inFlight >= fewest || !this.#isFree(pod, inFlight)) continue;
      chosen = pod;
      fewest = inFlight;
    }
    if (chosen?.lastReport === undefined) return null;
    entry.ownLeases.add(leaseId);
    const { address, port } = chosen.lastReport;
    const nowUs = Math.round(this.#options.clock.now() * US_PER_MS);
    return {
      leaseId,
      targetUid: chosen.facts.uid,
      address: `${address}:${port}`,
      arrivedAt: ticket.arrivedAt > 0 ? ticket.arrivedAt : nowUs,
      grantedAt: nowUs,
    };
  }

  /** A request failed there; another pod is to be tried first. */
  failed(targetUid: string): void {
    this.#failedUntil.set(targetUid, this.#options.clock.now() + FAILED_MS);
  }

  freed(entry: RevisionEntry): void {
    if (this.#entries.has(entry)) this.#onFree(entry);
  }

  #isFree(pod: PodSession, inFlight: number): boolean {
    const { lastReport, socket, facts } = pod;
    if (socket === undefined || lastReport?.state !== "ready") return false;
    if ((this.#failedUntil.get(facts.uid) ?? 0) > this.#options.clock.now()) return false;
    return lastReport.capacity === 0 || inFlight < lastReport.capacity;
  }
}

function countByTarget(entry: RevisionEntry): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { targetUid } of entry.leases.values()) {
    counts.set(targetUid, (counts.get(targetUid) ?? 0) + 1);
  }
  return counts;
}
