/** The real clock; the only place in product code that reads the time of the machine. */
import type { Clock } from "../common/clock.ts";

/** Fixed at the start of the process; its getter costs more than the clock itself. */
const ORIGIN = performance.timeOrigin;

export const systemClock: Clock = {
  // Fractions of a ms and monotonic within a process.
  now: () => ORIGIN + performance.now(),
};
