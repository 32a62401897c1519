/**
 * Stock's window averages: a ring of one-second buckets, linear or weighted. Kept apart from our
 * exact windows because its rounding and its gaps are part of what it answers.
 */
import type { Aggregation } from "../settings/types.ts";

const WEIGHT_OF_OLDEST = 0.0001;
const MIN_COEFFICIENT = 0.2;
/** Stock rounds linear averages to six decimals. */
const PRECISION = 1_000_000;

export class TimedBuckets {
  readonly #buckets: number[];
  readonly #window: number;
  readonly #coefficient: number;
  #first: number | null = null;
  #last: number | null = null;

  constructor(windowSeconds: number) {
    this.#window = windowSeconds;
    this.#buckets = Array.from({ length: windowSeconds }, () => 0);
    this.#coefficient = Math.max(1 - WEIGHT_OF_OLDEST ** (1 / windowSeconds), MIN_COEFFICIENT);
  }

  /** Adds a value to the bucket of its second. */
  record(second: number, value: number): void {
    const window = this.#window;
    if (this.#last !== null && second <= this.#last - window) return;
    if (this.#last === null || second > this.#last) this.#moveTo(second);
    if (this.#first === null || second < this.#first) this.#first = second;
    const index = second % window;
    this.#buckets[index] = (this.#buckets[index] ?? 0) + value;
  }

  isEmpty(now: number): boolean {
    return this.#last === null || now - this.#last > this.#window;
  }

  average(now: number, aggregation: Aggregation): number {
    return aggregation === "linear" ? this.#linear(now) : this.#weighted(now);
  }

  #moveTo(second: number): void {
    const last = this.#last;
    if (last !== null && second - last >= this.#window) {
      this.#buckets.fill(0);
      this.#first = second;
    } else if (last !== null) {
      for (let stale = last + 1; stale <= second; stale += 1)
        this.#buckets[stale % this.#window] = 0;
    }
    this.#last = second;
  }

  #linear(now: number): number {
    if (this.#last === null || this.#first === null) return 0;
    const late = Math.max(0, now - this.#last);
    if (late >= this.#window) return 0;
    let total = this.#buckets.reduce((sum, value) => sum + value, 0);
    for (let fallen = this.#last + 1; fallen <= now; fallen += 1) {
      total -= this.#buckets[fallen % this.#window] ?? 0;
    }
    const seconds = Math.min(this.#last - this.#first + 1, this.#window - late);
    return roundHalfAway(total / seconds);
  }

  #weighted(now: number): number {
    if (this.#last === null || this.isEmpty(now)) return 0;
    const late = Math.max(0, now - this.#last);
    let weight = this.#coefficient * (1 - this.#coefficient) ** late;
    let sum = 0;
    for (let age = 0; age < this.#window - late; age += 1) {
      const second = this.#last - age;
      if (second < 0) break;
      sum += (this.#buckets[second % this.#window] ?? 0) * weight;
      weight *= 1 - this.#coefficient;
    }
    return sum;
  }
}

function roundHalfAway(value: number): number {
  const scaled = Math.abs(value) * PRECISION;
  return (Math.sign(value) * Math.floor(scaled + 0.5)) / PRECISION;
}
