/**
 * What a call is expected to take on each kind of card, from what is known of revision and class.
 * Cards of which nothing is known are left out; the store counts them as the mean of the others.
 */
import { estimateOutputTokens, estimatePromptTokens, TokenRatio } from "./body-estimate.ts";
import type { CardProfile } from "./cost.ts";
import { roundHalfUp, serviceUs } from "./cost.ts";
import { knownCard } from "./known-cards.ts";
import type { ClassKnowledge, RevisionKnowledge, StageKnowledge } from "./knowledge.ts";
import { MEASURED_CALLS } from "./knowledge.ts";
import type { ModelBody } from "./model-body.ts";

/** What the request itself says. */
export interface CallFacts {
  /** Absent: not a call of a model, or its body was not seen. */
  readonly body: ModelBody | undefined;
  /** Stage of the workflow, else the route; the name under which its times are kept. */
  readonly stage: string;
  readonly outputHint: number | undefined;
}

export interface CallEstimate {
  /** -1 without tokens. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Whole us alone on each card, by card name. */
  readonly workUs: ReadonlyMap<string, number>;
  /** Mean over the pool; 0 when nothing is known. */
  readonly meanUs: number;
}

export function estimateCall(
  facts: CallFacts,
  revision: RevisionKnowledge,
  stage: StageKnowledge | undefined,
): CallEstimate {
  const { body } = facts;
  const promptTokens = body === undefined ? -1 : promptTokensOf(body, revision);
  const outputTokens =
    body === undefined
      ? 0
      : estimateOutputTokens({
          stageMedian: stage?.outputMedian,
          maxTokens: body.maxTokens,
          answers: body.answers,
          hint: facts.outputHint,
        });
  const workUs = new Map<string, number>();
  for (const card of cardNames(revision)) {
    const us =
      promptTokens < 0
        ? routeUs(revision, card, facts.stage)
        : tokensUs(revision, card, { inputTokens: promptTokens, outputTokens, cachedTokens: 0 });
    if (us !== undefined) workUs.set(card, Math.max(1, us));
  }
  return { promptTokens, outputTokens, workUs, meanUs: meanOverPool(workUs, revision.pool) };
}

function promptTokensOf(body: ModelBody, revision: RevisionKnowledge): number {
  const { characters, messages, imageTokens } = body;
  const charsPerToken = charsPerTokenOf(body, revision);
  return estimatePromptTokens({ characters, messages, charsPerToken, imageTokens });
}

function charsPerTokenOf(body: ModelBody, revision: RevisionKnowledge): number {
  const learnt = ownValue(revision.charsPerToken, body.model);
  return learnt ?? new TokenRatio().charsPerToken(body.cjkShare);
}

/** The end of a prompt that engines compute again, whatever they hold: one block. */
const COMPUTED_TOKENS = 16;

/** Tokens of a call's prompt that an engine need not compute which holds its first `characters`. */
export function heldTokens(
  body: ModelBody,
  { promptTokens }: Pick<CallEstimate, "promptTokens">,
  revision: RevisionKnowledge,
  characters: number,
): number {
  const held = Math.floor(characters / charsPerTokenOf(body, revision));
  return Math.max(0, Math.min(held, promptTokens - COMPUTED_TOKENS));
}

/**
 * Whole us of a call on each card where a pod holds the first `characters` of its prompt: seconds
 * saved are those of that card, so a slow one gains most. A card whose engine was never seen to serve
 * from its cache saves nothing.
 */
export function warmWorkUs(
  body: ModelBody,
  estimate: Pick<CallEstimate, "promptTokens" | "outputTokens" | "workUs">,
  revision: RevisionKnowledge,
  characters: number,
): ReadonlyMap<string, number> {
  const { promptTokens: inputTokens, outputTokens, workUs } = estimate;
  const cachedTokens = heldTokens(body, estimate, revision, characters);
  const warm = new Map<string, number>();
  for (const [card, coldUs] of workUs) {
    const us = keepsPrefixes(revision, card)
      ? tokensUs(revision, card, { inputTokens, outputTokens, cachedTokens })
      : coldUs;
    warm.set(card, Math.max(1, us ?? coldUs));
  }
  return warm;
}

/** False where the engine was never seen to serve from its cache. */
export function keepsPrefixes(revision: RevisionKnowledge, card: string): boolean {
  const learnt = ownValue(revision.cards, card);
  return learnt === undefined || learnt.calls < MEASURED_CALLS || learnt.cachedShare > 0;
}

function cardNames(revision: RevisionKnowledge): Set<string> {
  return new Set([...Object.keys(revision.pool), ...Object.keys(revision.cards)]);
}

/** The measured profile, or the first guess for a card whose name is known. */
export function profileOf(revision: RevisionKnowledge, card: string): CardProfile | undefined {
  const learnt = ownValue(revision.cards, card);
  if (learnt !== undefined && learnt.calls >= MEASURED_CALLS) return learnt.profile;
  return knownCard(card)?.profile;
}

function tokensUs(
  revision: RevisionKnowledge,
  card: string,
  size: Parameters<typeof serviceUs>[1],
): number | undefined {
  const profile = profileOf(revision, card);
  return profile === undefined ? undefined : serviceUs(profile, size);
}

function routeUs(revision: RevisionKnowledge, card: string, route: string): number | undefined {
  const learnt = ownValue(revision.cards, card);
  const us = learnt === undefined ? undefined : ownValue(learnt.routesUs, route);
  return us === undefined ? undefined : roundHalfUp(us);
}

/** Every target counts, not every card. */
export function meanOverPool(
  workUs: ReadonlyMap<string, number>,
  pool: RevisionKnowledge["pool"],
): number {
  let sum = 0;
  let targets = 0;
  for (const [card, us] of workUs) {
    const count = ownValue(pool, card) ?? 0;
    sum += us * count;
    targets += count;
  }
  if (targets > 0) return roundHalfUp(sum / targets);
  const values = [...workUs.values()];
  const total = values.reduce((left, right) => left + right, 0);
  return values.length === 0 ? 0 : roundHalfUp(total / values.length);
}

/** Expected time of a stage by its history, else by what the service declared, else 0. */
export function stageUs(
  stage: string,
  known: ClassKnowledge | undefined,
  declared: readonly { readonly name: string; readonly durationMs: number }[],
): number {
  const learnt = known === undefined ? undefined : ownValue(known.stages, stage);
  if (learnt !== undefined && learnt.expectedUs > 0) return learnt.expectedUs;
  const duration = declared.find(({ name }) => name === stage)?.durationMs ?? 0;
  return roundHalfUp(duration * 1_000);
}

/** Names come from callers: one that every object has must not find what is no value. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
