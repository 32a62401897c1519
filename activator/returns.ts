/**
 * Gives slots and places in the queue back. Nothing is awaited by a request, and nothing is lost
 * while the store is away: the store keeps what it could not take and sends it when it is back.
 */
import { PlatformError } from "../common/errors.ts";
import type { Logger } from "../foundation/logger.ts";
import type { ReleaseOutcome, RoutingStore } from "../store/types.ts";
import type { DegradedMode } from "./degraded.ts";
import type { RevisionEntry } from "./revision-entry.ts";

export interface ReleaseDetails {
  readonly outcome: ReleaseOutcome;
  readonly status: number;
  readonly serviceMs: number;
}

const NOTHING_RAN: ReleaseDetails = { outcome: "not-delivered", status: 0, serviceMs: 0 };

export class Returns {
  readonly #store: RoutingStore;
  readonly #degraded: DegradedMode;
  readonly #logger: Logger;
  #underWay = 0;
  #idle: (() => void)[] = [];

  constructor(store: RoutingStore, degraded: DegradedMode, logger: Logger) {
    this.#store = store;
    this.#degraded = degraded;
    this.#logger = logger;
  }

  release(entry: RevisionEntry, leaseId: string, details: ReleaseDetails): void {
    entry.leases.delete(leaseId);
    // What the store never knew it need not hear the end of.
    if (!entry.ownLeases.delete(leaseId)) this.#send(entry, leaseId, details);
    this.#degraded.freed(entry);
  }

  #send(entry: RevisionEntry, leaseId: string, details: ReleaseDetails): void {
    this.#underWay += 1;
    const { outcome, status, serviceMs } = details;
    this.#store.releaseLease({ revision: entry.key, leaseId, outcome, status, serviceMs }).then(
      () => this.#ended(),
      (error: unknown) => {
        this.#ended();
        const isAway = error instanceof PlatformError && error.code === "ERR_STORE_UNAVAILABLE";
        const level = isAway ? "debug" : "error";
        this.#logger[level]("slot not given back yet", { revision: entry.key, leaseId, error });
      },
    );
  }

  /** Nothing was sent under this id: the place in the queue, or the slot assigned meanwhile. */
  withdraw(entry: RevisionEntry, leaseId: string): void {
    this.release(entry, leaseId, NOTHING_RAN);
  }

  /** Resolves when no call is under way. */
  settled(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #ended(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    const waiters = this.#idle;
    this.#idle = [];
    for (const waiter of waiters) waiter();
  }
}
