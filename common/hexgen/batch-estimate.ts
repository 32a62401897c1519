/**
 * What a call costs engines that batch, on each card: engine time, which is what counts as work, and
 * what `batch` weighs beside it. For the revision's own cards, by what is known of them.
 */
import type { BatchingCard } from "./batch-dispatch.ts";
import { engineTimeOfWay, engineUs, meanLogSpeeds } from "./batch-dispatch.ts";
import { keepsPrefixes, ownValue, profileOf } from "./call-estimate.ts";
import type { CallSize } from "./cost.ts";
import { serviceUs } from "./cost.ts";
import { knownCard } from "./known-cards.ts";
import type { ClassKnowledge, RevisionKnowledge } from "./knowledge.ts";

/** Of a card whose cache nobody knows: a call takes the smallest part of it. */
const ROOMY_CACHE = 1e9;

/** What `batch` weighs beside the work of a call on a card. */
export interface BatchWeights {
  /** Whole us of the call alone. */
  readonly soloUs: number;
  /** Natural logarithm of the engine time. */
  readonly logEngineUs: number;
  /** How slow the card is over a whole workflow, see `meanLogSpeeds`. */
  readonly meanLogSpeed: number;
  /** Engine time of a workflow of its class, see `engineTimeOfWay`. */
  readonly wayUs: number;
}

/** What is the same for all calls of a class on these cards. */
export interface ClassSpeeds {
  /** By card, see `meanLogSpeeds`. */
  readonly meanLogSpeedOf: ReadonlyMap<string, number>;
  readonly wayUs: number;
}

export interface BatchEstimate {
  /** Whole us of engine time by card. */
  readonly workUs: ReadonlyMap<string, number>;
  readonly weights: ReadonlyMap<string, BatchWeights>;
}

export interface BatchFacts {
  readonly size: CallSize;
  readonly revision: RevisionKnowledge;
  readonly speeds: ClassSpeeds;
}

/** Of the cards that are known, over the class of a call; a call without one is its own class. */
export function classSpeeds(
  cards: Iterable<string>,
  revision: RevisionKnowledge,
  known: ClassKnowledge | undefined,
  ownSize: CallSize,
): ClassSpeeds {
  const names: string[] = [];
  const batching: BatchingCard[] = [];
  for (const name of cards) {
    const card = batchingCard(revision, name);
    if (card === undefined) continue;
    names.push(name);
    batching.push(card);
  }
  const template = (known?.template ?? []).filter(
    ({ stage }) => known !== undefined && ownValue(known.stages, stage) !== undefined,
  );
  // A call without a known way is all that its workflow is: no card has an advantage in it.
  const way = template.length > 0 ? template : [{ stage: "", optional: false, probability: 1 }];
  const engineUsOf = (stage: string): readonly number[] => {
    const facts = known === undefined ? undefined : ownValue(known.stages, stage);
    const size =
      facts === undefined
        ? ownSize
        : { inputTokens: facts.inputTokens, outputTokens: facts.outputMedian, cachedTokens: 0 };
    return batching.map((card) => engineUs(card, size));
  };
  const means = meanLogSpeeds(way, engineUsOf);
  return {
    meanLogSpeedOf: new Map(names.map((name, index) => [name, means[index] ?? 0])),
    wayUs: names.length === 0 ? 1 : Math.max(1, engineTimeOfWay(way, engineUsOf)),
  };
}

export function batchEstimate({ size, revision, speeds }: BatchFacts): BatchEstimate {
  const workUs = new Map<string, number>();
  const weights = new Map<string, BatchWeights>();
  for (const [name, meanLogSpeed] of speeds.meanLogSpeedOf) {
    const card = batchingCard(revision, name);
    if (card === undefined) continue;
    const held = keepsPrefixes(revision, name) ? size : { ...size, cachedTokens: 0 };
    const us = Math.max(1, engineUs(card, held));
    workUs.set(name, us);
    weights.set(name, {
      soloUs: Math.max(1, serviceUs(card.profile, held)),
      logEngineUs: Math.log(us),
      meanLogSpeed,
      wayUs: speeds.wayUs,
    });
  }
  return { workUs, weights };
}

function batchingCard(revision: RevisionKnowledge, name: string): BatchingCard | undefined {
  const profile = profileOf(revision, name);
  if (profile === undefined) return undefined;
  return { profile, kvTokens: knownCard(name)?.kvTokens ?? ROOMY_CACHE };
}
