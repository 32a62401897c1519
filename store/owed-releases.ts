/**
 * Releases that the store has yet to hear of: kept while it cannot be reached, sent one after the
 * other when it is back. Bounded; a lease dropped here stays taken until its activator restarts.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";

interface OwedRelease {
  readonly revision: RevisionKey;
  readonly outcome: string;
}

type Release = (revision: RevisionKey, leaseId: string, outcome: string) => Promise<void>;

const MOST_OWED = 100_000;
/** A store that is busy, full or not the primary comes back without a new connection. */
const RETRY_MS = 500;

export class OwedReleases {
  readonly #release: Release;
  readonly #owed = new Map<string, OwedRelease>();
  #settling = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(release: Release) {
    this.#release = release;
  }

  add(revision: RevisionKey, leaseId: string, outcome: string): void {
    if (this.#owed.size >= MOST_OWED) return;
    this.#owed.set(leaseId, { revision, outcome });
    this.settle();
  }

  /** Sends what is owed until it fails again; each failed try waited for the store's deadline. */
  settle(): void {
    if (this.#settling || this.#closed) return;
    this.#settling = true;
    clearTimeout(this.#timer);
    void this.#settleAll().finally(() => (this.#settling = false));
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#owed.clear();
  }

  async #settleAll(): Promise<void> {
    for (const [leaseId, { revision, outcome }] of this.#owed) {
      if (this.#closed) return;
      try {
        await this.#release(revision, leaseId, outcome);
        this.#owed.delete(leaseId);
      } catch {
        // The next connect starts again, or this timer.
        if (!this.#closed) this.#timer = setTimeout(() => this.settle(), RETRY_MS);
        return;
      }
    }
  }
}
