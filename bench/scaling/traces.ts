/** The traces that scaling is judged on: shapes that GPU services see, one request at a time per pod. */
import { makeTrace, TRACE_RATES } from "../../autoscaler/simulator/scaling/traces.ts";
import type { Arrival } from "../../autoscaler/simulator/scaling/types.ts";

const MINUTE_MS = 60_000;

/** Starts as a GPU pod with its image at hand has them: most near ten seconds, some far longer. */
export const START_TIMES_MS = [8_000, 9_000, 10_000, 12_000, 20_000];

export interface NamedTrace {
  readonly name: string;
  readonly arrivals: readonly Arrival[];
}

export const TRACES: readonly NamedTrace[] = [
  named("steady", { seed: 11, minutes: 30, serviceMs: 2_000, peakRate: 2 }, TRACE_RATES.steady(2)),
  named(
    "on and off",
    { seed: 12, minutes: 30, serviceMs: 2_000, peakRate: 3 },
    TRACE_RATES.onOff(3, MINUTE_MS, 2 * MINUTE_MS),
  ),
  named(
    "day",
    { seed: 13, minutes: 40, serviceMs: 2_000, peakRate: 4 },
    TRACE_RATES.wave(4, 20 * MINUTE_MS),
  ),
  named(
    "bursts",
    { seed: 14, minutes: 20, serviceMs: 2_000, peakRate: 10 },
    TRACE_RATES.bursts(10, 20_000, 2 * MINUTE_MS),
  ),
  named(
    "rare",
    { seed: 15, minutes: 120, serviceMs: 4_000, peakRate: 0.02 },
    TRACE_RATES.steady(0.02),
  ),
  named(
    "long work",
    { seed: 16, minutes: 60, serviceMs: 20_000, peakRate: 0.3 },
    TRACE_RATES.wave(0.3, 30 * MINUTE_MS),
  ),
];

function named(
  name: string,
  shape: {
    readonly seed: number;
    readonly minutes: number;
    readonly serviceMs: number;
    readonly peakRate: number;
  },
  rateAt: (atMs: number) => number,
): NamedTrace {
  const { seed, minutes, serviceMs, peakRate } = shape;
  const durationMs = minutes * MINUTE_MS;
  return { name, arrivals: makeTrace({ seed, durationMs, serviceMs, peakRate, rateAt }) };
}
