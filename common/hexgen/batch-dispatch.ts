/**
 * Choice of a target for engines that batch. Solo service times overstate what a call costs such an
 * engine: its decode steps are shared with the batch. Here a call costs its prefill, which nobody
 * shares, and its part of the decode steps, by the part of the key-value cache that it occupies.
 * That is the load of a card. Its speed for a call is the solo time, as in `wb`; and on a busy pool
 * a call prefers the cards that are comparatively good at it: long answers go where the cache is
 * roomy, long prompts where prefill is fast. Like `wb`, the score
 * falls with the load within a profile, so the head of each profile is the only candidate.
 */
import type { CallSize, CardProfile } from "./cost.ts";
import { roundHalfUp } from "./cost.ts";
import type { Template } from "./template.ts";

export interface BatchingCard {
  readonly profile: CardProfile;
  readonly kvTokens: number;
}

/** Batches are rarely packed to the last token, so cache costs more than its plain part. */
const CACHE_PRICE = 1.5;
/** Part of a decode step that even the smallest call takes. */
const SMALLEST_PART = 1 / 16;
/** Share of the cache that engines fill. */
const USABLE_CACHE = 0.95;

/** Engine time that a call takes on a card that works on a full batch, in whole us. */
export function engineUs(card: BatchingCard, size: CallSize): number {
  const { prefillTokensPerS, tokenUs, batchSlope } = card.profile;
  const prefillUs = (1e6 * Math.max(size.inputTokens - size.cachedTokens, 0)) / prefillTokensPerS;
  const cachePart = (CACHE_PRICE * size.inputTokens) / (USABLE_CACHE * card.kvTokens);
  const part = Math.min(Math.max(cachePart, SMALLEST_PART), 1);
  const decodeUs = size.outputTokens * tokenUs * (part * (1 - batchSlope) + batchSlope);
  return roundHalfUp(prefillUs + decodeUs);
}

/**
 * How slow each card is over a whole workflow, as the mean logarithm of best over own engine time,
 * weighted by the best. What a stage differs from it is the card's comparative advantage there.
 */
export function meanLogSpeeds(
  template: Template,
  engineUsOf: (stage: string) => readonly number[],
): number[] {
  const sums: number[] = [];
  let weights = 0;
  for (const { stage, probability } of template) {
    const times = engineUsOf(stage);
    const best = Math.min(...times);
    if (!(best > 0)) continue;
    weights += probability * best;
    for (const [card, time] of times.entries()) {
      sums[card] = (sums[card] ?? 0) + probability * best * Math.log(best / time);
    }
  }
  return sums.map((sum) => sum / weights);
}

/** Engine time of a whole workflow where each stage runs on its best card: the scale of all loads. */
export function engineTimeOfWay(
  template: Template,
  engineUsOf: (stage: string) => readonly number[],
): number {
  let sum = 0;
  for (const { stage, probability } of template)
    sum += probability * Math.min(...engineUsOf(stage));
  return sum;
}

export interface BatchTarget {
  readonly ordinal: number;
  /** Solo time of the call here. */
  readonly serviceUs: number;
  /** `engineUs` of the call here. */
  readonly engineUs: number;
  /** Sum of `engineUs` over the calls dispatched here and not ended. */
  readonly loadUs: number;
  /** `meanLogSpeeds` of its card. */
  readonly meanLogSpeed: number;
  readonly canTake: boolean;
}

const ADVANTAGE_WEIGHT = 2;
/** Bounds the advantage, so that a cached prompt does not outweigh any load. */
const LARGEST_ADVANTAGE = 0.2;
/** Fitted on the benchmark, of whose workflows each takes so much engine time. */
const FITTED_WAY_US = 19_334_551;
/** Loads below this part of a workflow are small: they count as parts of it, not of the largest load. */
export const SMALL_LOAD = 10_000_000 / FITTED_WAY_US;
/** From this load of the idlest card on the advantage counts in full; on an idle pool speed decides. */
export const BUSY_LOAD = 20_000_000 / FITTED_WAY_US;
const TIE = 1e-9;

/**
 * The target with the largest score; ties go to the smaller load, then to the smaller ordinal. `wayUs`
 * is `engineTimeOfWay` of the call's class, so that a fast model is judged like a slow one.
 */
export function chooseForBatch<T extends BatchTarget>(
  targets: readonly T[],
  alpha: number,
  wayUs: number,
): T | undefined {
  const pool = poolFigures(targets, wayUs);
  const able = targets.filter(({ canTake }) => canTake);
  const scores = able.map((target) => batchScore(target, alpha, pool));
  const best = Math.max(...scores);
  let chosen: T | undefined;
  for (const [index, target] of able.entries()) {
    if ((scores[index] ?? -Infinity) < best - TIE) continue;
    if (chosen === undefined || hasLessLoad(target, chosen)) chosen = target;
  }
  return chosen;
}

export interface PoolFigures {
  readonly smallestServiceUs: number;
  readonly smallestEngineUs: number;
  readonly smallestLoadUs: number;
  readonly largestLoadUs: number;
  readonly wayUs: number;
}

export function poolFigures(targets: Iterable<BatchTarget>, wayUs: number): PoolFigures {
  let smallestServiceUs = Infinity;
  let smallestEngineUs = Infinity;
  let smallestLoadUs = Infinity;
  let largestLoadUs = 0;
  for (const target of targets) {
    smallestServiceUs = Math.min(smallestServiceUs, target.serviceUs);
    smallestEngineUs = Math.min(smallestEngineUs, target.engineUs);
    smallestLoadUs = Math.min(smallestLoadUs, target.loadUs);
    largestLoadUs = Math.max(largestLoadUs, target.loadUs);
  }
  return { smallestServiceUs, smallestEngineUs, smallestLoadUs, largestLoadUs, wayUs };
}

/**
 * Speed weighs alpha, load the rest; the advantage comes on top. Lua has the same operations in the
 * same order; logarithms are taken here only, since two libraries may differ in the last bit.
 */
export function batchScore(target: BatchTarget, alpha: number, pool: PoolFigures): number {
  const speed = alpha * (pool.smallestServiceUs / target.serviceUs);
  const difference =
    Math.log(pool.smallestEngineUs) - Math.log(target.engineUs) - target.meanLogSpeed;
  const advantage = Math.min(Math.max(difference, -LARGEST_ADVANTAGE), LARGEST_ADVANTAGE);
  const busy = Math.min(pool.smallestLoadUs / (BUSY_LOAD * pool.wayUs), 1);
  const small = SMALL_LOAD * pool.wayUs;
  const load = (1 - alpha) * (target.loadUs / Math.max(pool.largestLoadUs, small));
  return speed + ADVANTAGE_WEIGHT * busy * advantage - load;
}

function hasLessLoad(left: BatchTarget, right: BatchTarget): boolean {
  return left.loadUs === right.loadUs ? left.ordinal < right.ordinal : left.loadUs < right.loadUs;
}
