/** Waiting for a condition, with a limit and the last reason in the message. */
import { errorText } from "../../common/errors.ts";

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  /** Ends the waiting early when what is waited for cannot come any more. */
  readonly giveUp?: () => string | undefined;
}

/** Calls `probe` until it returns something else than `undefined` or `false`; a throw counts as not yet. */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  options: WaitOptions = {},
): Promise<T> {
  const { timeoutMs = 60_000, everyMs = 100 } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { value, why } = await tryOnce(probe);
    if (value !== undefined) return value;
    const hopeless = options.giveUp?.();
    if (hopeless !== undefined) throw new Error(`${what}: ${hopeless}`);
    if (performance.now() > deadline) {
      throw new Error(`${what}: not within ${Math.round(timeoutMs / 1000)} s${why}`);
    }
    await pause(everyMs);
  }
}

async function tryOnce<T>(
  probe: () => Promise<T | undefined | false>,
): Promise<{ value: T | undefined; why: string }> {
  try {
    const result = await probe();
    return { value: result === false ? undefined : result, why: "" };
  } catch (error) {
    return { value: undefined, why: `; last: ${errorText(error)}` };
  }
}
