/**
 * Who decides: one lease in the store per shard of revisions. A process that holds a shard acts for
 * it until a little before its lease may end, whatever the network does meanwhile.
 */
import type { Clock } from "../common/clock.ts";
import { errorText } from "../common/errors.ts";
import type { Logger } from "../foundation/logger.ts";
import type { LeaseCalls } from "../store/leases.ts";
import type { CancelTimer, Timers } from "./timers.ts";

export interface LeadershipOptions {
  readonly leases: LeaseCalls;
  /** Name of the lease, e.g. `autoscaler-3`. */
  readonly name: string;
  /** This process, unique among all that ever ran. */
  readonly holder: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly onGain: (epoch: number) => Promise<void>;
  readonly onLoss: () => Promise<void>;
  readonly ttlMs?: number;
}

export interface Leadership {
  /** True while this process may act; asked right before each write. */
  isLeading(): boolean;
  /** Of the lease held; 0 without one. */
  readonly epoch: number;
  start(): void;
  stop(): Promise<void>;
}

const DEFAULT_TTL_MS = 6_000;
/** Attempts per life of a lease: two may fail before it is lost. */
const ATTEMPTS = 4;
/** The last part of a lease is not used: a write that was begun must be over when it ends. */
const USABLE_SHARE = 0.75;

export function createLeadership(options: LeadershipOptions): Leadership {
  return new LeaseHolder(options);
}

class LeaseHolder implements Leadership {
  readonly #options: LeadershipOptions;
  readonly #ttlMs: number;
  #epoch = 0;
  #usableUntil = Number.NEGATIVE_INFINITY;
  #stopped = true;
  #cancel: CancelTimer = () => undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#ttlMs = options.ttlMs ?? DEFAULT_TTL_MS;
  }

  get epoch(): number {
    return this.#epoch;
  }

  isLeading(): boolean {
    return this.#epoch !== 0 && this.#options.clock.now() < this.#usableUntil;
  }

  start(): void {
    this.#stopped = false;
    this.#arm(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#turn;
    if (this.#epoch === 0) return;
    const { leases, name, holder } = this.#options;
    const lease = { holder, epoch: this.#epoch };
    await this.#lose("this process stops");
    // One that cannot be given up ends by itself.
    await leases.dropLease(name, lease).catch(() => undefined);
  }

  #arm(delayMs: number): void {
    this.#cancel = this.#options.timers.after(delayMs, () => void (this.#turn = this.#attempt()));
  }

  async #attempt(): Promise<void> {
    const { name, logger, clock } = this.#options;
    try {
      await (this.#epoch === 0 ? this.#claim() : this.#renew());
    } catch (error) {
      logger.warn("lease not reached", { name, error: errorText(error) });
    }
    if (this.#epoch !== 0 && clock.now() >= this.#usableUntil) {
      await this.#lose("it was not renewed in time");
    }
    if (!this.#stopped) this.#arm(this.#ttlMs / ATTEMPTS);
  }

  async #claim(): Promise<void> {
    const { leases, name, holder, clock, logger } = this.#options;
    const askedAt = clock.now();
    const claimed = await leases.claimLease(name, holder, this.#ttlMs);
    if (claimed === null) return;
    this.#epoch = claimed;
    this.#usableUntil = askedAt + this.#ttlMs * USABLE_SHARE;
    logger.info("leadership gained", { name, epoch: claimed });
    await this.#options.onGain(claimed);
  }

  async #renew(): Promise<void> {
    const { leases, name, holder, clock } = this.#options;
    const askedAt = clock.now();
    const held = await leases.renewLease(name, { holder, epoch: this.#epoch }, this.#ttlMs);
    if (held) this.#usableUntil = askedAt + this.#ttlMs * USABLE_SHARE;
    else await this.#lose("the lease is another's");
  }

  async #lose(why: string): Promise<void> {
    const { logger, name } = this.#options;
    logger.warn("leadership lost", { name, epoch: this.#epoch, why });
    this.#epoch = 0;
    this.#usableUntil = Number.NEGATIVE_INFINITY;
    await this.#options.onLoss();
  }
}
