/**
 * The steady beat of an activator: keeps its entry alive for every revision in which it holds
 * something, runs the probes that the store orders, and puts back what a lost store forgot.
 */
import type { Clock } from "../common/clock.ts";
import { PlatformError } from "../common/errors.ts";
import type { RoutingStore, SweepResult } from "../store/types.ts";
import type { Logger } from "../foundation/logger.ts";
import type { DegradedMode } from "./degraded.ts";
import type { Hold } from "./hold.ts";
import type { Probe, ProbeTarget } from "./probe-target.ts";
import type { PushIntake } from "./push-intake.ts";
import type { Returns } from "./returns.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Revisions } from "./revisions.ts";

/** A third of the life of an entry in the store, so that one lost beat does no harm. */
const BEAT_MS = 1_000;
/** Beats between two sweeps of a revision that only has pods here: its targets need it rarely. */
const IDLE_BEATS = 5;
/** A revision was in use so recently that its targets may sit in quarantine. */
const RECENT_MS = 60_000;
/** Beats between two comparisons of what the store holds for this process with what it has. */
const AUDIT_BEATS = 5;
/**
 * Beats after a return of the store in which each one compares all: what was sent to a store that
 * stood still runs when it goes on, also behind the release of the same request.
 */
const DOUBTFUL_BEATS = 5;
/** Sweeps of one revision within a beat, when the store says that more is left. */
const MAX_SWEEPS = 16;

export interface KeeperOptions {
  readonly store: RoutingStore;
  readonly revisions: Revisions;
  readonly hold: Hold;
  readonly intake: PushIntake;
  readonly returns: Returns;
  readonly degraded: DegradedMode;
  readonly activatorId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly probe: Probe;
}

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #renewing = new Set<RevisionEntry>();
  /** Instant of the last word of the store about a revision. */
  readonly #heardAt = new WeakMap<RevisionEntry, number>();
  /** Where the last comparison ended. */
  readonly #auditedTo = new WeakMap<RevisionEntry, string>();
  /** Beat up to which the store may still hold what nobody here knows of. */
  readonly #doubtfulUntil = new WeakMap<RevisionEntry, number>();
  readonly #probing = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #beats = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.beat(), BEAT_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  beat(): void {
    const { revisions, hold, intake, degraded } = this.#options;
    this.#beats += 1;
    degraded.prune((entry) => revisions.find(entry.key) === entry);
    for (const entry of revisions.all()) {
      if (!this.#isDue(entry)) continue;
      void this.#renew(entry);
      hold.askDue(entry);
      if (!degraded.has(entry)) void this.#compare(entry);
    }
    intake.tick();
    revisions.tick();
  }

  #isDue(entry: RevisionEntry): boolean {
    const { clock, intake, degraded } = this.#options;
    if (entry.busy || degraded.has(entry)) return true;
    if (entry.pods.size === 0) return false;
    const isRecent = clock.now() - entry.usedAt < RECENT_MS;
    return isRecent || this.#beats % IDLE_BEATS === 0 || intake.hasDoubt(entry);
  }

  /** The store was away, or its messages were: nothing it knew of us is sure any more. */
  async recover(): Promise<void> {
    const { revisions } = this.#options;
    await Promise.all([...revisions.all()].map((entry) => this.#recoverRevision(entry)));
  }

  async #recoverRevision(entry: RevisionEntry): Promise<void> {
    const { store, revisions, hold, intake, activatorId, logger } = this.#options;
    if (!entry.busy && entry.pods.size === 0) return;
    this.#doubtfulUntil.set(entry, this.#beats + DOUBTFUL_BEATS);
    try {
      await revisions.load(entry);
      if (entry.leases.size > 0) {
        await store.reassertLeases(entry.key, activatorId, entry.leasesToPutBack());
      }
      await intake.reportAll(entry);
      hold.askAll(entry);
      await this.#compare(entry);
    } catch (error) {
      logger.warn("leases not put back yet", { revision: entry.key, error });
    }
  }

  async #renew(entry: RevisionEntry): Promise<void> {
    if (this.#renewing.has(entry)) return;
    this.#renewing.add(entry);
    const { clock, degraded } = this.#options;
    const askedAt = clock.now();
    try {
      await this.#sweep(entry);
      this.#heardAt.set(entry, clock.now());
      if (degraded.has(entry)) await this.#storeIsBack(entry);
    } catch (error) {
      this.#storeFailed(entry, askedAt, error);
    } finally {
      this.#renewing.delete(entry);
    }
  }

  /**
   * The store had its 2 s for the call: from here on each activator serves its own pods. The same
   * holds for every revision that heard nothing since; in a cluster those on other nodes did.
   */
  #storeFailed(failed: RevisionEntry, askedAt: number, error: unknown): void {
    const { degraded, revisions, hold, logger } = this.#options;
    const isAway = error instanceof PlatformError && error.code === "ERR_STORE_UNAVAILABLE";
    if (!isAway) return logger.error("revision not renewed", { revision: failed.key, error });
    if (!degraded.has(failed)) {
      logger.warn("store is away: serving own pods only", { revision: failed.key, error });
    }
    for (const entry of revisions.all()) {
      if (degraded.has(entry) || (this.#heardAt.get(entry) ?? 0) > askedAt) continue;
      degraded.enter(entry);
      hold.serveLocally(entry);
    }
  }

  async #storeIsBack(entry: RevisionEntry): Promise<void> {
    this.#options.logger.info("store is back", { revision: entry.key });
    this.#options.degraded.leave(entry);
    await this.#recoverRevision(entry);
  }

  /** After a return of the store all of it at each beat, else a page every few. */
  async #compare(entry: RevisionEntry): Promise<void> {
    const isDoubtful = this.#beats <= (this.#doubtfulUntil.get(entry) ?? 0);
    if (!isDoubtful && this.#beats % AUDIT_BEATS !== 0) return;
    const mostPages = isDoubtful ? MAX_SWEEPS : 1;
    for (let page = 0; page < mostPages; page += 1) {
      if (!(await this.#audit(entry))) return;
    }
  }

  /**
   * A slot or a place that the store keeps for a request which is not here any more goes back: its
   * release was overtaken by the putting back of leases. Nothing else ever frees it, since this
   * process renews all it holds. True when another page follows.
   */
  async #audit(entry: RevisionEntry): Promise<boolean> {
    const { store, returns, activatorId, logger } = this.#options;
    try {
      const from = this.#auditedTo.get(entry) ?? "0";
      const { cursor, ids } = await store.listHeld(entry.key, activatorId, from);
      this.#auditedTo.set(entry, cursor);
      const lost = ids.filter((id) => !entry.leases.has(id) && !entry.tickets.has(id));
      for (const leaseId of lost) returns.withdraw(entry, leaseId);
      if (lost.length > 0) logger.debug("requests compared", { revision: entry.key, lost });
      return cursor !== "0";
    } catch {
      // The next round compares again.
      return false;
    }
  }

  async #sweep(entry: RevisionEntry): Promise<void> {
    const { store, activatorId } = this.#options;
    for (let round = 0; round < MAX_SWEEPS; round += 1) {
      const sweep = await store.renewActivator(entry.key, activatorId);
      this.#carryOut(entry, sweep);
      if (!sweep.more) return;
    }
  }

  #carryOut(entry: RevisionEntry, sweep: SweepResult): void {
    for (const order of sweep.probes) void this.#probe(entry, order);
    if (sweep.evicted.length > 0) {
      this.#options.logger.warn("targets evicted", {
        revision: entry.key,
        targets: sweep.evicted,
      });
    }
  }

  async #probe(entry: RevisionEntry, target: ProbeTarget): Promise<void> {
    const { store, probe, logger } = this.#options;
    if (this.#probing.has(target.targetUid)) return;
    this.#probing.add(target.targetUid);
    try {
      const result = await probe(target);
      await store.reportProbe(entry.key, target.targetUid, result === "passed");
    } catch (error) {
      logger.warn("probe result not stored", { revision: entry.key, error });
    } finally {
      this.#probing.delete(target.targetUid);
    }
  }
}
