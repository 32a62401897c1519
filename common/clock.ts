/** The time as an argument: pure code gets a Clock, only `foundation/clock.ts` has the real one. */
export interface Clock {
  /** Milliseconds since the epoch, with fractions where the platform has them. */
  now(): number;
}
