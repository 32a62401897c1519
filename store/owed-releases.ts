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

export class OwedReleases {
  readonly #release: Release;
  readonly #owed = new Map<string, OwedRelease>();
  #settling = false;
  #closed = false;

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
    void this.#settleAll().finally(() => (this.#settling = false));
  }

  close(): void {
    this.#closed = true;
    this.#owed.clear();
  }

  async #settleAll(): Promise<void> {
    for (const [leaseId, { revision, outcome }] of this.#owed) {
      if (this.#closed) return;
      try {
        await this.#release(revision, leaseId, outcome);
        this.#owed.delete(leaseId);
      } catch {
        // The next connect starts again.
        return;
      }
    }
  }
}
