/** Time of a round trip, smoothed: a new path shows within a second, one slow packet does not. */

/** Weight of a new sample. */
const GAIN = 0.25;

export class RoundTrip {
  #ms: number | null = null;

  /** Zero before the first sample. */
  get ms(): number {
    return this.#ms ?? 0;
  }

  get isKnown(): boolean {
    return this.#ms !== null;
  }

  sample(ms: number): void {
    this.#ms = this.#ms === null ? ms : this.#ms + GAIN * (ms - this.#ms);
  }

  forget(): void {
    this.#ms = null;
  }
}
