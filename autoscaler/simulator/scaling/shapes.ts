/** Generated traces by name, as `pilotlight simulate` and `plan` offer them. */
import { makeTrace, TRACE_RATES } from "./traces.ts";
import type { Arrival } from "./types.ts";

export const SHAPES = ["poisson", "bursts", "on-off", "day"] as const;
export type Shape = (typeof SHAPES)[number];

export interface ShapeOptions {
  /** Most arrivals per second. */
  readonly peakRate: number;
  readonly durationMs: number;
  readonly serviceMs: number;
  readonly seed: number;
}

const MINUTE_MS = 60_000;

export function shapeTrace(shape: Shape, options: ShapeOptions): readonly Arrival[] {
  return makeTrace({ ...options, rateAt: rateOf(shape, options) });
}

function rateOf(shape: Shape, { peakRate, durationMs }: ShapeOptions): (atMs: number) => number {
  switch (shape) {
    case "poisson":
      return TRACE_RATES.steady(peakRate);
    case "bursts":
      return TRACE_RATES.bursts(peakRate, 20_000, 2 * MINUTE_MS);
    case "on-off":
      return TRACE_RATES.onOff(peakRate, MINUTE_MS, 2 * MINUTE_MS);
    case "day":
      return TRACE_RATES.wave(peakRate, durationMs);
  }
}
