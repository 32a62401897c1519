/**
 * Means over any window from samples of running integrals, exact because the scripts keep the
 * integrals and no gauge is sampled. All instants are the store's, in us: one clock for all.
 */
import type { Aggregation } from "./settings/types.ts";

/** Running totals at one instant; an integral is in request-us. */
export interface Sample {
  readonly at: number;
  readonly concurrencyIntegral: number;
  readonly arrivals: number;
}

/** What one pod-independent load looks like over one window. */
export interface LoadMean {
  /** Mean of requests in flight. */
  readonly concurrency: number;
  /** Arrivals per second. */
  readonly rate: number;
}

const US_PER_MS = 1_000;
const US_PER_SECOND = 1_000_000;
/**
 * A record of 10 ms says nothing: one arrival in it is not 100 per second, and a request that waits
 * for the moment is not load. Means are over a whole second at least, as stock's buckets are.
 */
const MIN_SPAN_US = US_PER_SECOND;
/** Weights of stock's weighted-exponential mean: the oldest bucket of a window counts 0.0001. */
const OLDEST_WEIGHT = 0.0001;
const MIN_WEIGHT = 0.2;

/**
 * Samples of one revision, oldest first, as far back as the longest window needs. A silence of a
 * whole window, or a store that lost its totals, begins a new record.
 */
export class LoadHistory {
  #samples: Sample[];

  constructor(samples: readonly Sample[] = []) {
    this.#samples = [...samples];
  }

  get size(): number {
    return this.#samples.length;
  }

  get last(): Sample | undefined {
    return this.#samples.at(-1);
  }

  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Adds the newest totals and forgets what no window of `windowMs` can reach. */
  record(sample: Sample, windowMs: number): void {
    const last = this.last;
    if (last !== undefined) {
      if (sample.at <= last.at) return;
      const restarted =
        sample.concurrencyIntegral < last.concurrencyIntegral || sample.arrivals < last.arrivals;
      if (restarted || sample.at - last.at >= windowMs * US_PER_MS) this.#samples = [];
    }
    this.#samples.push(sample);
    this.#prune(sample.at - windowMs * US_PER_MS);
  }

  /** Since when the totals are known without a gap, in us; `null` without any. */
  get beganAt(): number | null {
    return this.#samples[0]?.at ?? null;
  }

  /** True when the record reaches back over a whole window. */
  covers(windowMs: number): boolean {
    const [first, last] = [this.#samples[0], this.last];
    if (first === undefined || last === undefined) return false;
    return last.at - first.at >= windowMs * US_PER_MS;
  }

  /** Mean over the last `windowMs`, or over the part of it for which there is a record. */
  mean(windowMs: number, aggregation: Aggregation): LoadMean {
    const [first, last] = [this.#samples[0], this.last];
    if (first === undefined || last === undefined) return { concurrency: 0, rate: 0 };
    const from = Math.max(first.at, last.at - windowMs * US_PER_MS);
    return aggregation === "linear"
      ? this.#between(from, last.at)
      : this.#weighted(from, last.at, windowMs);
  }

  /**
   * Means of single whole seconds, as the stock algorithm eats them: entry k ends at second
   * `untilSecond - k`. Only seconds for which there is a record, at most `count` of them.
   */
  seconds(untilSecond: number, count: number): readonly LoadMean[] {
    const began = this.beganAt;
    const means: LoadMean[] = [];
    if (began === null) return means;
    for (let end = untilSecond * US_PER_SECOND; means.length < count; end -= US_PER_SECOND) {
      if (end <= began) break;
      means.push(this.#between(Math.max(began, end - US_PER_SECOND), end));
    }
    return means;
  }

  #between(from: number, until: number): LoadMean {
    if (until <= from) return { concurrency: 0, rate: 0 };
    const [start, end] = [this.#totalsAt(from), this.#totalsAt(until)];
    const span = Math.max(until - from, MIN_SPAN_US);
    return {
      concurrency: (end.concurrencyIntegral - start.concurrencyIntegral) / span,
      rate: ((end.arrivals - start.arrivals) * US_PER_SECOND) / span,
    };
  }

  /** Seconds counted back from now, the newest with the largest weight; weights are normalised. */
  #weighted(from: number, until: number, windowMs: number): LoadMean {
    const seconds = windowMs / 1_000;
    const smoothing = Math.max(1 - OLDEST_WEIGHT ** (1 / seconds), MIN_WEIGHT);
    let [concurrency, rate, weights] = [0, 0, 0];
    let weight = smoothing;
    for (let end = until; end > from; end -= US_PER_SECOND) {
      const mean = this.#between(Math.max(from, end - US_PER_SECOND), end);
      concurrency += mean.concurrency * weight;
      rate += mean.rate * weight;
      weights += weight;
      weight *= 1 - smoothing;
    }
    if (weights === 0) return { concurrency: 0, rate: 0 };
    return { concurrency: concurrency / weights, rate: rate / weights };
  }

  /** Totals at an instant inside the record, by linear interpolation between two samples. */
  #totalsAt(at: number): Sample {
    const index = this.#firstNotBefore(at);
    const [before, after] = [this.#samples[index - 1], this.#samples[index]];
    if (after === undefined) return before ?? { at, concurrencyIntegral: 0, arrivals: 0 };
    if (before === undefined || after.at === at) return after;
    const share = (at - before.at) / (after.at - before.at);
    const between = (left: number, right: number): number => left + (right - left) * share;
    return {
      at,
      concurrencyIntegral: between(before.concurrencyIntegral, after.concurrencyIntegral),
      arrivals: between(before.arrivals, after.arrivals),
    };
  }

  #firstNotBefore(at: number): number {
    let [low, high] = [0, this.#samples.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#samples[middle]?.at ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Keeps one sample at or before `horizon`, so that the window's edge can be interpolated. */
  #prune(horizon: number): void {
    const keepFrom = this.#firstNotBefore(horizon + 1) - 1;
    // Dropping few at a time would copy the array at every tick.
    if (keepFrom > 64 || keepFrom > this.#samples.length / 2) {
      this.#samples = this.#samples.slice(keepFrom);
    }
  }
}
