/** Arrivals: made from a seed in a few typical shapes, or read from lines of `atMs,serviceMs`. */
import { createRandom } from "../../../common/random.ts";
import type { Random } from "../../../common/random.ts";
import { PlatformError } from "../../../common/errors.ts";
import type { Arrival } from "./types.ts";

export interface TraceShape {
  readonly seed: number;
  readonly durationMs: number;
  /** Mean of the work of one request. */
  readonly serviceMs: number;
  /** Arrivals per second at an instant; never above `peakRate`. */
  readonly rateAt: (atMs: number) => number;
  readonly peakRate: number;
}

/** Poisson arrivals of a changing rate, by thinning; work is spread evenly over 0.5 to 1.5 of its mean. */
export function makeTrace(shape: TraceShape): readonly Arrival[] {
  const random = createRandom(shape.seed);
  const arrivals: Arrival[] = [];
  for (let atMs = gap(random, shape); atMs < shape.durationMs; atMs += gap(random, shape)) {
    const kept = random() * shape.peakRate < shape.rateAt(atMs);
    const serviceMs = shape.serviceMs * (0.5 + random());
    if (kept) arrivals.push({ atMs, serviceMs });
  }
  return arrivals;
}

export const TRACE_RATES = {
  /** The same all the time. */
  steady: (peakRate: number) => () => peakRate,
  /** Full for `onMs`, nothing for `offMs`, in turn. */
  onOff: (peakRate: number, onMs: number, offMs: number) => (atMs: number) =>
    atMs % (onMs + offMs) < onMs ? peakRate : 0,
  /** From nothing to the peak and back over `periodMs`, as a day does. */
  wave: (peakRate: number, periodMs: number) => (atMs: number) =>
    (peakRate * (1 - Math.cos((2 * Math.PI * atMs) / periodMs))) / 2,
  /** A tenth of the peak, and the whole peak for `burstMs` once per `everyMs`. */
  bursts: (peakRate: number, burstMs: number, everyMs: number) => (atMs: number) =>
    atMs % everyMs >= everyMs - burstMs ? peakRate : peakRate / 10,
} as const;

function gap(random: Random, shape: TraceShape): number {
  return (-Math.log(1 - random()) / shape.peakRate) * 1_000;
}

/** Lines of `atMs,serviceMs`; a first line with names is skipped. Answers them in order of arrival. */
export function parseTrace(text: string): readonly Arrival[] {
  const lines = text.split("\n").map((line) => line.trim());
  const arrivals: Arrival[] = [];
  for (const [index, line] of lines.entries()) {
    const isHeading = index === 0 && /[a-z]/i.test(line);
    if (line === "" || isHeading) continue;
    const [atMs = Number.NaN, serviceMs = Number.NaN] = line.split(",").map(Number);
    if (!(atMs >= 0) || !(serviceMs >= 0)) {
      throw new PlatformError(
        "ERR_USAGE",
        `Line ${index + 1} of the trace is "${line.slice(0, 80)}"; write two numbers: atMs,serviceMs`,
      );
    }
    arrivals.push({ atMs, serviceMs });
  }
  return arrivals.toSorted((left, right) => left.atMs - right.atMs);
}
