/**
 * Heartbeats wait in memory for at most a second and go to the store by revision: as soon as they
 * fill a call, so that those of a large fleet are spread over the second as they come and never stand
 * in front of requests as one block. A newer one of the same pod replaces the older.
 */
import type { Logger } from "../foundation/logger.ts";
import { HEARTBEAT_BATCH } from "../store/target-calls.ts";
import type { Heartbeat, RoutingStore } from "../store/types.ts";
import type { RevisionEntry } from "./revision-entry.ts";

const FLUSH_MS = 1_000;

export interface HeartbeatsOptions {
  readonly store: RoutingStore;
  readonly logger: Logger;
  /** The store lost this pod, or has questions for it: its whole state is to be written. */
  readonly mustReport: (podUid: string) => void;
}

export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  #waiting = new Map<RevisionEntry, Map<string, Heartbeat>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Heartbeats that wait. */
  get size(): number {
    let size = 0;
    for (const beats of this.#waiting.values()) size += beats.size;
    return size;
  }

  add(entry: RevisionEntry, beat: Heartbeat): void {
    let beats = this.#waiting.get(entry);
    if (beats === undefined) {
      beats = new Map();
      this.#waiting.set(entry, beats);
    }
    beats.set(beat.podUid, beat);
    if (beats.size < HEARTBEAT_BATCH) return;
    this.#waiting.delete(entry);
    void this.#write(entry, [...beats.values()]);
  }

  async flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    await Promise.all(
      [...waiting].map(([entry, beats]) => this.#write(entry, [...beats.values()])),
    );
  }

  async #write(entry: RevisionEntry, beats: readonly Heartbeat[]): Promise<void> {
    try {
      const asked = await this.#options.store.reportHeartbeats(entry.key, beats);
      for (const podUid of asked) this.#options.mustReport(podUid);
    } catch (error) {
      // The next heartbeat of each pod says the same a period later.
      this.#options.logger.debug("heartbeats not stored", { revision: entry.key, error });
    }
  }
}
