/**
 * The four limits of an attempt on one timer: it is set once to the nearest end and looks again
 * when it rings, so a request that ends in time costs one timer set and cleared. After a stall of
 * the event loop timers ring before sockets are read, so a limit fires only when one round of
 * reading has not brought what it waits for.
 */
import { LateTimer, type LateTimers } from "./late-timers.ts";
import type { AttemptLimits } from "./types.ts";

export type LimitName = "connect" | "start" | "idle" | "total";

/** `connecting` until the connection stands, `waiting` until the response head, then `flowing`. */
type Phase = "connecting" | "waiting" | "flowing";

export class AttemptClock {
  #limits: AttemptLimits;
  #onLimit: (limit: LimitName) => void;
  #startedAt = performance.now();
  #activeAt = this.#startedAt;
  #phase: Phase = "connecting";
  #timers: LateTimers;
  /** Made for the first limit that is on. */
  #timer: LateTimer | undefined;
  /** Waits for one round of reading before a limit fires. */
  #lastLook: NodeJS.Immediate | undefined;

  constructor(limits: AttemptLimits, timers: LateTimers, onLimit: (limit: LimitName) => void) {
    this.#limits = limits;
    this.#timers = timers;
    this.#onLimit = onLimit;
  }

  /** Separate from the constructor: a connection from the pool stands already, and is not timed. */
  start(): void {
    this.#arm(this.#startedAt);
  }

  connected(): void {
    if (this.#phase === "connecting") this.#phase = "waiting";
  }

  /** The response head is here: the start limit is over, silence counts from now. */
  began(): void {
    this.#phase = "flowing";
    if (this.#limits.idleMs <= 0) return;
    this.#activeAt = performance.now();
    this.#arm(this.#activeAt);
  }

  /** Bytes moved in either direction. */
  active(): void {
    if (this.#limits.idleMs > 0) this.#activeAt = performance.now();
  }

  stop(): void {
    if (this.#timer !== undefined) this.#timers.clear(this.#timer);
    clearImmediate(this.#lastLook);
  }

  #arm(now: number): void {
    let endsAt = Number.POSITIVE_INFINITY;
    for (const name of this.#running()) endsAt = Math.min(endsAt, this.#endOf(name));
    if (endsAt < Number.POSITIVE_INFINITY) {
      this.#timer ??= new LateTimer(this.#onRing);
      this.#timers.set(this.#timer, Math.max(1, Math.ceil(endsAt - now)));
    } else if (this.#timer !== undefined) this.#timers.clear(this.#timer);
  }

  readonly #onRing = (): void => {
    const now = performance.now();
    if (this.#over(now) === undefined) this.#arm(now);
    else this.#lastLook = setImmediate(this.#onLastLook);
  };

  readonly #onLastLook = (): void => {
    const now = performance.now();
    const over = this.#over(now);
    if (over === undefined) this.#arm(now);
    else this.#onLimit(over);
  };

  #over(now: number): LimitName | undefined {
    return this.#running().find((name) => this.#endOf(name) <= now);
  }

  #running(): readonly LimitName[] {
    return RUNNING_LIMITS[this.#phase];
  }

  #endOf(name: LimitName): number {
    const limitMs = this.#limits[LIMIT_FIELDS[name]];
    if (limitMs <= 0) return Number.POSITIVE_INFINITY;
    return (name === "idle" ? this.#activeAt : this.#startedAt) + limitMs;
  }
}

const LIMIT_FIELDS = {
  connect: "connectMs",
  start: "startMs",
  idle: "idleMs",
  total: "totalMs",
} as const satisfies Record<LimitName, keyof AttemptLimits>;

const RUNNING_LIMITS = {
  connecting: ["connect", "start", "total"],
  waiting: ["start", "total"],
  flowing: ["idle", "total"],
} as const satisfies Record<Phase, readonly LimitName[]>;
