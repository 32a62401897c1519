/** Waiting for a condition instead of a fixed time; fails with what was last seen. */

export interface EventuallyOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  /** Named in the failure message. */
  readonly what?: string;
}

/** What is left of a type once the probe's value counted as true. */
export type Truthy<T> = Exclude<T, false | 0 | "" | null | undefined | void>;

/** Calls `probe` until it returns something truthy, and returns that. A throwing probe counts as not yet. */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Truthy<T>> {
  const { timeoutMs = 5_000, everyMs = 5, what = probe.toString() } = options;
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const result = await probe();
      if (result) return result as Truthy<T>;
      last = result;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`Not so within ${timeoutMs} ms: ${what}; last seen: ${String(last)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
