/** Random numbers as an argument, so that a test can fix them and a simulation can repeat them. */

/** Uniform in [0, 1). */
export type Random = () => number;

/**
 * Small seeded generator (mulberry32): 32 bits of state, good enough for choices and jitter,
 * never for secrets.
 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
