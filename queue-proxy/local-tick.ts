/**
 * Looks at the local queue again while calls wait there: a call may become hopeless, or may no
 * longer be passed, without anything else happening.
 */
import type { Breaker } from "./core/breaker.ts";

const LOOK_EVERY_MS = 20;

export class LocalTick {
  readonly #breaker: Breaker;
  #timer: NodeJS.Timeout | undefined;

  constructor(breaker: Breaker) {
    this.#breaker = breaker;
  }

  /** A call waits; ends by itself when none does any more. */
  arm(): void {
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  #look(): void {
    this.#breaker.startWaiting();
    if (this.#breaker.localWaiting > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
