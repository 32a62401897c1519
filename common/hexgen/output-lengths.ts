/**
 * Output lengths seen per workflow class, stage and model: a histogram that forgets, from which
 * dispatch takes the median and budgets the 80th percentile.
 */
import { roundHalfUp } from "./cost.ts";

const BUCKETS = 32;
/** Two buckets per doubling: 1 to 65,536 tokens. */
const BUCKETS_PER_DOUBLING = 2;
const HALF_LIFE_CALLS = 500;
const GROWTH_PER_CALL = 2 ** (1 / HALF_LIFE_CALLS);
/** Weights grow instead of all others shrinking; beyond this everything is scaled back. */
const RESCALE_ABOVE = 1e12;
/** Before anything was seen. */
export const DEFAULT_OUTPUT_TOKENS = 256;

export interface OutputLengthsState {
  readonly weights: readonly number[];
  readonly tokens: readonly number[];
  readonly count: number;
}

export class OutputLengths {
  readonly #weights = new Float64Array(BUCKETS);
  /** Weighted sum of tokens per bucket, so that a bucket answers with its own mean. */
  readonly #tokens = new Float64Array(BUCKETS);
  #nextWeight = 1;
  #count = 0;

  /** Calls seen, forgotten ones included. */
  get count(): number {
    return this.#count;
  }

  observe(outputTokens: number): void {
    const bucket = bucketOf(outputTokens);
    this.#weights[bucket] = (this.#weights[bucket] ?? 0) + this.#nextWeight;
    this.#tokens[bucket] = (this.#tokens[bucket] ?? 0) + this.#nextWeight * outputTokens;
    this.#count += 1;
    this.#nextWeight *= GROWTH_PER_CALL;
    if (this.#nextWeight > RESCALE_ABOVE) this.#rescale();
  }

  /** The length, in whole tokens, that reaches that share of the weight; `undefined` before any call. */
  quantile(share: number): number | undefined {
    let total = 0;
    for (const weight of this.#weights) total += weight;
    if (total === 0) return undefined;
    let passed = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const weight = this.#weights[bucket] ?? 0;
      passed += weight;
      if (weight > 0 && passed >= share * total)
        return roundHalfUp((this.#tokens[bucket] ?? 0) / weight);
    }
    return undefined;
  }

  /** For dispatch. */
  median(): number | undefined {
    return this.quantile(0.5);
  }

  /** For the denominator of budgets. */
  upper(): number | undefined {
    return this.quantile(0.8);
  }

  /** What a publisher keeps; `createOutputLengths` reads it back. */
  state(): OutputLengthsState {
    const scale = 1 / this.#nextWeight;
    return {
      weights: Array.from(this.#weights, (weight) => weight * scale),
      tokens: Array.from(this.#tokens, (tokens) => tokens * scale),
      count: this.#count,
    };
  }

  restore(state: OutputLengthsState): void {
    this.#nextWeight = 1;
    this.#count = state.count;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      this.#weights[bucket] = state.weights[bucket] ?? 0;
      this.#tokens[bucket] = state.tokens[bucket] ?? 0;
    }
  }

  #rescale(): void {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      this.#weights[bucket] = (this.#weights[bucket] ?? 0) / this.#nextWeight;
      this.#tokens[bucket] = (this.#tokens[bucket] ?? 0) / this.#nextWeight;
    }
    this.#nextWeight = 1;
  }
}

/** A histogram, empty or with the state of an earlier one. */
export function createOutputLengths(state?: OutputLengthsState): OutputLengths {
  const lengths = new OutputLengths();
  if (state !== undefined) lengths.restore(state);
  return lengths;
}

function bucketOf(tokens: number): number {
  const bucket = Math.floor(Math.log2(Math.max(tokens, 1)) * BUCKETS_PER_DOUBLING);
  return Math.min(bucket, BUCKETS - 1);
}
