/**
 * Timers for limits that are hardly ever reached. One of Node's costs more to set and clear than
 * most steps of a request; here one that is far from its end only stands in a list, and is handed
 * to Node shortly before. It rings when one of Node's would.
 */
import { ChurnList, ListEntry } from "../common/churn-list.ts";

/** How long before its end a timer becomes one of Node's; shorter ones are from the beginning. */
const LEAD_MS = 500;
/** A look at the list never comes sooner after the last one. */
const LEAST_PAUSE_MS = 250;
/** Node rings at once when asked for more than 31 bits. */
const LONGEST_MS = 2_147_483_647;

export class LateTimer extends ListEntry {
  readonly onRing: () => void;
  /** By `performance.now()`. */
  endsAt = 0;
  timer: NodeJS.Timeout | undefined;

  constructor(onRing: () => void) {
    super();
    this.onRing = onRing;
  }
}

/** The timers of one kind of limit. */
export class LateTimers {
  readonly #far = new ChurnList<LateTimer>();
  #look: NodeJS.Timeout | undefined;
  #lookAt = Number.POSITIVE_INFINITY;

  /** Rings once after this time, in place of what was set before. */
  set(timer: LateTimer, delayMs: number): void {
    this.clear(timer);
    if (delayMs <= LEAD_MS + LEAST_PAUSE_MS) {
      timer.timer = setTimeout(timer.onRing, delayMs);
      return;
    }
    const now = performance.now();
    timer.endsAt = now + Math.min(delayMs, LONGEST_MS);
    this.#far.add(timer);
    this.#lookBefore(timer.endsAt, now);
  }

  clear(timer: LateTimer): void {
    if (this.#far.remove(timer)) return;
    clearTimeout(timer.timer);
    timer.timer = undefined;
  }

  #lookBefore(endsAt: number, now: number): void {
    const lookAt = Math.max(now + LEAST_PAUSE_MS, endsAt - LEAD_MS);
    if (lookAt >= this.#lookAt) return;
    clearTimeout(this.#look);
    this.#lookAt = lookAt;
    // Whoever waits has a connection, which keeps the process.
    this.#look = setTimeout(this.#onLook, lookAt - now).unref();
  }

  readonly #onLook = (): void => {
    const now = performance.now();
    this.#lookAt = Number.POSITIVE_INFINITY;
    let nearest = Number.POSITIVE_INFINITY;
    for (const timer of this.#far) {
      if (timer.endsAt - now > LEAD_MS + LEAST_PAUSE_MS) nearest = Math.min(nearest, timer.endsAt);
      else this.#hand(timer, now);
    }
    if (nearest < Number.POSITIVE_INFINITY) this.#lookBefore(nearest, now);
  };

  #hand(timer: LateTimer, now: number): void {
    this.#far.remove(timer);
    timer.timer = setTimeout(timer.onRing, Math.max(1, Math.ceil(timer.endsAt - now)));
  }
}
