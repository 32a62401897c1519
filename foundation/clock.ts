/** The real clock; the only place in product code that reads the time of the machine. */
import type { Clock } from "../common/clock.ts";

export const systemClock: Clock = {
  // Fractions of a ms and monotonic within a process: timeOrigin is fixed at process start.
  now: () => performance.timeOrigin + performance.now(),
};
