/** Stock's `scale-down-delay`: the maximum over buckets of two seconds. */

const GRANULARITY_SECONDS = 2;

/** `[bucket index, largest value]`, oldest first. */
export type DelayEntry = readonly [index: number, value: number];

export interface DelayResult {
  readonly entries: readonly DelayEntry[];
  readonly current: number;
}

/** Records a value and answers the maximum over the window and the entries to keep. */
export function recordDelay(
  before: readonly DelayEntry[],
  nowSeconds: number,
  value: number,
  delaySeconds: number,
): DelayResult {
  const index = Math.floor(nowSeconds / GRANULARITY_SECONDS);
  const buckets = Math.ceil(delaySeconds / GRANULARITY_SECONDS);
  const kept = before.filter(([at]) => at > index - buckets && at <= index);
  const last = kept.at(-1);
  const entries: DelayEntry[] =
    last !== undefined && last[0] === index
      ? [...kept.slice(0, -1), [index, Math.max(last[1], value)]]
      : [...kept, [index, value]];
  return { entries, current: Math.max(...entries.map(([, held]) => held)) };
}
