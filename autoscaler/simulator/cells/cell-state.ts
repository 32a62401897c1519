/** One simulated cell: its pods, its queue, and what it costs. */
import type { SimulatedCell } from "./types.ts";

export interface WaitingRequest {
  readonly arrivedAt: number;
  readonly entry: number;
}

/** As a digest shows it. */
export interface CellFigures {
  readonly warm: number;
  readonly pods: number;
  readonly starting: number;
  readonly waiting: number;
  readonly mayStart: number;
}

export class CellState {
  readonly spec: SimulatedCell;
  readonly queue: WaitingRequest[] = [];
  busy = 0;
  starting = 0;
  mostPods = 0;
  cost = 0;
  /** Since when each idle pod is idle, the longest first. */
  readonly #idle: number[] = [];
  #countedAt = 0;

  constructor(spec: SimulatedCell) {
    this.spec = spec;
  }

  get pods(): number {
    return this.busy + this.starting + this.#idle.length;
  }

  get figures(): CellFigures {
    return {
      warm: this.#idle.length,
      pods: this.busy + this.#idle.length,
      starting: this.starting,
      waiting: this.queue.length,
      mayStart: this.spec.cards - this.pods,
    };
  }

  isLost(atMs: number): boolean {
    const { lost } = this.spec;
    return lost !== undefined && atMs >= lost.fromMs && atMs < lost.toMs;
  }

  /** Pods so far, times their time, times the price. */
  count(atMs: number): void {
    this.cost += (this.pods * this.spec.price * (atMs - this.#countedAt)) / 1_000;
    this.#countedAt = atMs;
    this.mostPods = Math.max(this.mostPods, this.pods);
  }

  /** The warmest pod; false when none is free. */
  take(): boolean {
    if (this.#idle.pop() === undefined) return false;
    this.busy += 1;
    return true;
  }

  /** A pod for each request that waits, as far as there are cards. */
  canStart(): boolean {
    return this.starting < this.queue.length && this.pods < this.spec.cards;
  }

  rest(atMs: number): void {
    this.#idle.push(atMs);
  }

  /** Pods that were idle for the whole cooldown leave. */
  expire(atMs: number, cooldownMs: number): void {
    while ((this.#idle[0] ?? Number.POSITIVE_INFINITY) + cooldownMs <= atMs) this.#idle.shift();
  }

  /** Everything in it is gone; what waited must go elsewhere. */
  lose(): readonly WaitingRequest[] {
    this.#idle.length = 0;
    this.busy = 0;
    this.starting = 0;
    return this.queue.splice(0);
  }
}
