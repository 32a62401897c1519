/**
 * The revisions in use here, with the configuration each was read with. Read at first use, after a
 * message, and every 5 s while used; written back after a loss of the store; forgotten when unused.
 */
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RoutingStore } from "../store/types.ts";
import { RevisionEntry } from "./revision-entry.ts";

const REFRESH_MS = 5_000;
/** Counters of an unused revision are shown this long (bar: series gone within 60 s). */
const UNUSED_MS = 50_000;
/** Pause between two tries to get a configuration that somebody waits for. */
const LOAD_PAUSE_MS = 250;

export interface RevisionsOptions {
  readonly store: RoutingStore;
  readonly activatorId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether some route still leads to the revision. */
  readonly isRouted: (revision: RevisionKey) => boolean;
}

type Loaded = "configured" | "unknown" | "failed";

export class Revisions {
  readonly #options: RevisionsOptions;
  readonly #entries = new Map<RevisionKey, RevisionEntry>();
  readonly #loading = new Map<RevisionKey, Promise<Loaded>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #onConfigured: (entry: RevisionEntry) => void = () => {};
  #onRemoved: (entry: RevisionEntry) => void = () => {};
  #closed = false;

  constructor(options: RevisionsOptions) {
    this.#options = options;
  }

  /** One listener: called whenever a configuration came, changed or was written back. */
  onConfigured(listener: (entry: RevisionEntry) => void): void {
    this.#onConfigured = listener;
  }

  /** One listener: called when the store knows the revision no more and no route leads to it. */
  onRemoved(listener: (entry: RevisionEntry) => void): void {
    this.#onRemoved = listener;
  }

  all(): IterableIterator<RevisionEntry> {
    return this.#entries.values();
  }

  find(key: RevisionKey): RevisionEntry | undefined {
    return this.#entries.get(key);
  }

  /** Marks the revision as used. */
  use(key: RevisionKey): RevisionEntry {
    const now = this.#options.clock.now();
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = new RevisionEntry(key, now);
      this.#entries.set(key, entry);
    }
    entry.usedAt = now;
    return entry;
  }

  /**
   * Makes store and entry agree: reads the configuration, or writes ours back where the store has
   * lost it. Repeats while requests wait for it. One at a time per revision.
   */
  load(entry: RevisionEntry): Promise<Loaded> {
    const running = this.#loading.get(entry.key);
    if (running !== undefined) return running;
    const loading = this.#readOrWriteBack(entry).finally(() => this.#loading.delete(entry.key));
    this.#loading.set(entry.key, loading);
    void loading.then((loaded) => this.#loaded(entry, loaded));
    return loading;
  }

  /** A message said that the configuration changed; nothing in the store now means removed. */
  async reread(key: RevisionKey): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    try {
      const config = await this.#options.store.readRevision(key);
      if (config === null) {
        entry.config = null;
        if (!this.#options.isRouted(key)) this.#onRemoved(entry);
      } else {
        entry.configure(config, this.#options.clock.now());
        this.#onConfigured(entry);
      }
    } catch (error) {
      this.#options.logger.warn("configuration not read", { revision: key, error });
    }
  }

  /** Refreshes what is used and forgets what is not; called each second. */
  tick(): void {
    const now = this.#options.clock.now();
    for (const entry of this.#entries.values()) {
      const inUse = entry.busy || entry.pods.size > 0;
      const removed = entry.config === null && !inUse;
      if (removed || (!inUse && now - entry.usedAt > UNUSED_MS)) {
        this.#entries.delete(entry.key);
      } else if (entry.config !== null && now - entry.readAt > REFRESH_MS) {
        entry.readAt = now;
        void this.#refresh(entry);
      }
    }
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  async #refresh(entry: RevisionEntry): Promise<void> {
    // Nobody needs it here: whether it was lost or removed is for those who use it to find out.
    if (!entry.busy && entry.pods.size === 0) return;
    await this.load(entry);
  }

  async #readOrWriteBack(entry: RevisionEntry): Promise<Loaded> {
    const { store, clock, logger, activatorId } = this.#options;
    try {
      const config = await store.readRevision(entry.key);
      if (config !== null) {
        entry.configure(config, clock.now());
        return "configured";
      }
      if (entry.config === null) return "unknown";
      await store.configureRevision(entry.config);
      await store.reassertLeases(entry.key, activatorId, entry.leasesToPutBack());
      logger.warn("configuration written back after a loss of the store", { revision: entry.key });
      return "configured";
    } catch (error) {
      logger.warn("configuration not read", { revision: entry.key, error });
      return "failed";
    }
  }

  #loaded(entry: RevisionEntry, loaded: Loaded): void {
    if (loaded === "configured") return this.#onConfigured(entry);
    if (loaded === "unknown" && !this.#options.isRouted(entry.key)) this.#onRemoved(entry);
    if (entry.tickets.size === 0 || this.#closed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.load(entry);
    }, LOAD_PAUSE_MS);
    this.#timers.add(timer);
  }
}
