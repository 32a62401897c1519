/**
 * How long a request works and how long one more would wait, from two counters that the store
 * keeps: requests in flight and arrivals. By Little's law the time of a request is what was in
 * flight over what came.
 */

export interface LoadReading {
  /** us. */
  readonly at: number;
  readonly busy: number;
  readonly waiting: number;
  readonly arrivals: number;
}

/** Half-life of what is remembered. */
const HALF_LIFE_US = 15_000_000;

export class LoadEstimate {
  #last: LoadReading | null = null;
  /** Slots held, summed over time, us; and requests that came: both fading. */
  #busyUs = 0;
  #arrivals = 0;

  note(reading: LoadReading): void {
    const last = this.#last;
    this.#last = reading;
    if (last === null || reading.arrivals < last.arrivals || reading.at <= last.at) return;
    const passedUs = reading.at - last.at;
    const kept = 0.5 ** (passedUs / HALF_LIFE_US);
    this.#busyUs = this.#busyUs * kept + passedUs * last.busy;
    this.#arrivals = this.#arrivals * kept + (reading.arrivals - last.arrivals);
  }

  /** Null while too little was seen. */
  get serviceMs(): number | null {
    return this.#arrivals < 1 ? null : this.#busyUs / this.#arrivals / 1_000;
  }

  /** Of one more request, with so many slots behind the queue; null when nobody can say. */
  expectedWaitMs(slots: number): number | null {
    const { serviceMs } = this;
    const waiting = this.#last?.waiting ?? 0;
    if (slots <= 0 || serviceMs === null) return null;
    return Math.round(((waiting + 1) * serviceMs) / slots);
  }
}
