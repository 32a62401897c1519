/**
 * The highest want of the recent past, judged in place: `max over s in (t - cooldown, t]`. Values
 * are the wants themselves, never what was held, so N pods leave in one step whatever N.
 *
 * A monotonic queue: values fall from front to back. A new value removes all at the back that are
 * not larger, since they can never be the maximum again; each value enters and leaves once.
 */

/** `[instant in ms of the store, wanted pods]`. */
export type CooldownEntry = readonly [atMs: number, want: number];

/** Longest cooldown that a setting allows; older values can never count. */
const LONGEST_COOLDOWN_MS = 24 * 3_600_000;

export class Cooldown {
  #entries: CooldownEntry[];
  #head = 0;

  constructor(entries: readonly CooldownEntry[] = []) {
    this.#entries = [...entries];
  }

  get isEmpty(): boolean {
    return this.#head >= this.#entries.length;
  }

  /** Enters a want; instants never go back. */
  enter(atMs: number, want: number): void {
    while (!this.isEmpty) {
      const last = this.#entries.at(-1);
      if (last === undefined || last[1] > want) break;
      this.#entries.pop();
    }
    this.#entries.push([atMs, want]);
  }

  /**
   * The maximum that still holds at `nowMs`. Values past `cooldownMs` are skipped, not dropped: a
   * longer cooldown set later applies to them too.
   */
  desired(nowMs: number, cooldownMs: number): number {
    this.#forget(nowMs - LONGEST_COOLDOWN_MS);
    const index = this.#firstAfter(nowMs - cooldownMs);
    // The newest want always holds, also with a cooldown of 0.
    const entry = this.#entries[index] ?? this.#entries.at(-1);
    return entry?.[1] ?? 0;
  }

  toEntries(): readonly CooldownEntry[] {
    return this.#entries.slice(this.#head);
  }

  #forget(horizonMs: number): void {
    while (this.#entries.length - this.#head > 1) {
      const oldest = this.#entries[this.#head];
      if (oldest === undefined || oldest[0] > horizonMs) break;
      this.#head += 1;
    }
    if (this.#head > 64 && this.#head > this.#entries.length / 2) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  #firstAfter(atMs: number): number {
    let [low, high] = [this.#head, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.[0] ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
