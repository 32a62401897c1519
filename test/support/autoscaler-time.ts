/** Virtual time for the controller: a clock, its timers, and a way to let them run. */
import type { Clock } from "../../common/clock.ts";
import type { Timers } from "../../autoscaler/timers.ts";

interface Timer {
  readonly at: number;
  readonly number: number;
  readonly run: () => void;
}

export class VirtualTime {
  #now: number;
  #number = 0;
  readonly #timers = new Set<Timer>();

  constructor(startMs: number) {
    this.#now = startMs;
  }

  get now(): number {
    return this.#now;
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** A clock that is `skewMs` ahead. */
  clock(skewMs = 0): Clock {
    return { now: () => this.#now + skewMs };
  }

  readonly timers: Timers = {
    after: (delayMs, run) => {
      this.#number += 1;
      const timer = { at: this.#now + delayMs, number: this.#number, run };
      this.#timers.add(timer);
      return () => void this.#timers.delete(timer);
    },
  };

  /** Runs what falls due within `durationMs`, in order; `settle` waits for what each one began. */
  async advance(durationMs: number, settle: () => Promise<unknown>): Promise<void> {
    const until = this.#now + durationMs;
    await settle();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settle();
    }
    this.#now = until;
  }

  #next(until: number): Timer | undefined {
    return [...this.#timers]
      .filter((timer) => timer.at <= until)
      .toSorted((left, right) => left.at - right.at || left.number - right.number)[0];
  }
}
