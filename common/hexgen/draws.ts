/** Arrivals and objectives drawn from a seeded stream, the same on every machine and in every run. */
import type { Random } from "../random.ts";
import { roundHalfUp } from "./cost.ts";

/** Arrivals of a Poisson process in whole us; the first gap comes before the first arrival. */
export function drawArrivalsUs(random: Random, ratePerS: number, count: number): number[] {
  const arrivalsUs: number[] = [];
  let seconds = 0;
  for (let index = 0; index < count; index += 1) {
    seconds += -Math.log(1 - random()) / ratePerS;
    arrivalsUs.push(roundHalfUp(1e6 * seconds));
  }
  return arrivalsUs;
}

/** One value of the set per draw, all equally likely. One value needs no draw. */
export function drawFrom(random: Random, set: readonly number[], count: number): number[] {
  const [only] = set;
  if (only === undefined) throw new RangeError("cannot draw from an empty set");
  if (set.length === 1) return Array.from({ length: count }, () => only);
  return Array.from({ length: count }, () => set[Math.floor(random() * set.length)] ?? only);
}

/** A standard Gaussian by the cosine branch of Box and Muller: two draws. */
export function drawGaussian(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

/**
 * A Gamma variate (Marsaglia and Tsang); shapes below 1 through the boost by a power of a uniform.
 * Mean is `shape * scale`.
 */
export function drawGamma(random: Random, shape: number, scale: number): number {
  if (shape < 1) {
    const boost = (1 - random()) ** (1 / shape);
    return drawGamma(random, shape + 1, scale) * boost;
  }
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = drawGaussian(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) {
      return d * v * scale;
    }
  }
}
