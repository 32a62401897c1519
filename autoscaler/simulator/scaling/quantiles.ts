/** Nearest-rank quantiles; 0 throughout for no values. */
import type { Quantiles } from "./types.ts";

export function quantiles(values: readonly number[]): Quantiles {
  const sorted = Float64Array.from(values).toSorted();
  const at = (share: number): number =>
    sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
