/** Order statistics of rounds and samples. */

/** The value below which a share of the samples lies. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

export function spread(samples: readonly number[]): [number, number] {
  return [Math.min(...samples), Math.max(...samples)];
}

export const rounded = (value: number): number => Math.round(value * 100) / 100;
