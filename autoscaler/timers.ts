/** Timers as an argument, so that tests move time by hand; every timer has an owner that stops it. */

export type CancelTimer = () => void;

export interface Timers {
  after(delayMs: number, run: () => void): CancelTimer;
}

export const systemTimers: Timers = {
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
