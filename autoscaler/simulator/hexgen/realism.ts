/**
 * What the reference model leaves out, each part switched on by itself: estimator error, dispatch
 * latency, tool time, stragglers, lost cards, cold starts, tenants, other traffic, another engine.
 * All draws come from one seeded stream, so a run can be repeated.
 */
import { drawGaussian } from "../../../common/hexgen/draws.ts";
import { roundHalfUp } from "../../../common/hexgen/cost.ts";
import type { Random } from "../../../common/random.ts";
import { createRandom } from "../../../common/random.ts";
import type { ChunkedEngineSettings } from "./chunked-engine.ts";

export interface CardOutage {
  readonly card: number;
  readonly fromS: number;
  /** When it serves again, start-up included; `Infinity`: never. */
  readonly untilS: number;
}

/** What the start of a card is made of, in s each. */
export interface StartParts {
  readonly imageS: number;
  readonly weightsS: number;
  readonly warmUpS: number;
}

/** A card whose start begins at that instant; it serves when all parts are over. */
export function coldStart(card: number, atS: number, parts: StartParts): CardOutage {
  return { card, fromS: atS, untilS: atS + parts.imageS + parts.weightsS + parts.warmUpS };
}

export interface RealismOptions {
  readonly seed: number;
  /** Engine with chunked prefill, growing cache use and preemption; else the reference engine. */
  readonly engine?: ChunkedEngineSettings;
  /** Sigma of the lognormal error of every estimate, one draw per call. */
  readonly estimateSigma?: number;
  /** Factors by which estimates were seen to be off, one drawn per call; instead of sigma. */
  readonly estimateResiduals?: readonly number[];
  /** Time from decision to card and from end to books, uniform in ms. */
  readonly dispatchLatencyMs?: readonly [number, number];
  /** Mean of the exponential time that tools take between two stages. */
  readonly toolTimeMs?: number;
  /** Share of calls whose answer is that many times as long. */
  readonly stragglers?: { readonly share: number; readonly factor: number };
  /** Cards that are away: lost and restarted, or still starting (`fromS` 0). */
  readonly outages?: readonly CardOutage[];
}

export class Realism {
  readonly options: RealismOptions;
  readonly #random: Random;

  constructor(options: RealismOptions = { seed: 0 }) {
    this.options = options;
    this.#random = createRandom(options.seed);
  }

  /** Factor on all estimates of a call. */
  estimateFactor(): number {
    const residuals = this.options.estimateResiduals ?? [];
    if (residuals.length > 0) return residuals[Math.floor(this.#random() * residuals.length)] ?? 1;
    const sigma = this.options.estimateSigma ?? 0;
    return sigma === 0 ? 1 : Math.exp(sigma * drawGaussian(this.#random));
  }

  dispatchLatencyUs(): number {
    const range = this.options.dispatchLatencyMs;
    if (range === undefined) return 0;
    return roundHalfUp(1000 * (range[0] + this.#random() * (range[1] - range[0])));
  }

  toolTimeUs(): number {
    const meanMs = this.options.toolTimeMs ?? 0;
    return meanMs === 0 ? 0 : roundHalfUp(-1000 * meanMs * Math.log(1 - this.#random()));
  }

  /** Tokens that a call really writes. */
  outputTokens(tracedTokens: number): number {
    const { stragglers } = this.options;
    if (stragglers === undefined || this.#random() >= stragglers.share) return tracedTokens;
    return Math.round(tracedTokens * stragglers.factor);
  }
}
