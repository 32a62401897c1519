/**
 * What the calls of one kind of card teach: its speed by tokens, and for calls without tokens the
 * time of each route. The first calls set the scale, since a card may run another model than the one
 * its prior is of; from then on the fit corrects it call by call.
 */
import type { CallSample } from "../../../common/contracts/push.ts";
import type { CardProfile } from "../../../common/hexgen/cost.ts";
import { exactServiceUs } from "../../../common/hexgen/cost.ts";
import { knownCard } from "../../../common/hexgen/known-cards.ts";
import type { LearntCard } from "../../../common/hexgen/knowledge.ts";
import { MEASURED_CALLS } from "../../../common/hexgen/knowledge.ts";
import { ProfileFit } from "../../../common/hexgen/profile-fit.ts";

/** Of a card that nobody knows: only the ratio of reading to writing matters before the scale is set. */
const UNKNOWN_CARD: CardProfile = { prefillTokensPerS: 2_000, tokenUs: 30_000, batchSlope: 0 };
const US_PER_MS = 1_000;
/** Weight of the newest call in the mean of its route. */
const ROUTE_WEIGHT = 0.1;
/** Names of routes come from callers. */
const MOST_ROUTES = 64;
const CACHED_WEIGHT = 0.05;

export class CardLearner {
  readonly #prior: CardProfile;
  readonly #first: CallSample[] = [];
  readonly #routesUs = new Map<string, number>();
  readonly #errors = new Map<string, number>();
  #fit: ProfileFit | undefined;
  #calls = 0;
  #cachedShare = 0;

  constructor(card: string) {
    this.#prior = knownCard(card)?.profile ?? UNKNOWN_CARD;
  }

  observe(sample: CallSample): void {
    this.#calls += 1;
    if (sample.promptTokens < 0 || sample.outputTokens < 0) return this.#observeRoute(sample);
    const share = sample.cachedTokens / Math.max(sample.promptTokens, 1);
    this.#cachedShare += CACHED_WEIGHT * (share - this.#cachedShare);
    if (this.#fit !== undefined) return this.#observeTokens(this.#fit, sample);
    this.#first.push(sample);
    if (this.#first.length === MEASURED_CALLS) this.#begin();
  }

  learnt(): LearntCard {
    const stages = [...this.#errors.keys()];
    const errors = stages.map((stage) => this.#fit?.stageError(stage).relativeError ?? 0);
    const error = errors.reduce((sum, value) => sum + value, 0) / Math.max(errors.length, 1);
    const off = [...this.errors()].filter(([, { alert }]) => alert);
    return {
      profile: rounded(this.#fit?.profile() ?? this.#prior),
      calls: this.#calls,
      error: Number(error.toFixed(4)),
      routesUs: Object.fromEntries(
        [...this.#routesUs].map(([route, us]) => [route, Math.round(us)]),
      ),
      cachedShare: Number(this.#cachedShare.toFixed(4)),
      ...(off.length === 0
        ? {}
        : {
            stagesOff: Object.fromEntries(
              off.map(([stage, { relativeError }]) => [stage, Number(relativeError.toFixed(4))]),
            ),
          }),
    };
  }

  /** Error of the predictions by stage, and whether it has been too large for long. */
  errors(): ReadonlyMap<string, { readonly relativeError: number; readonly alert: boolean }> {
    const fit = this.#fit;
    if (fit === undefined) return new Map();
    return new Map([...this.#errors.keys()].map((stage) => [stage, fit.stageError(stage)]));
  }

  #begin(): void {
    let observedUs = 0;
    let expectedUs = 0;
    for (const sample of this.#first) {
      observedUs += sample.totalMs * US_PER_MS;
      expectedUs += exactServiceUs(this.#prior, sizeOf(sample));
    }
    const scale = expectedUs > 0 && observedUs > 0 ? observedUs / expectedUs : 1;
    const fit = new ProfileFit({
      prefillTokensPerS: this.#prior.prefillTokensPerS / scale,
      tokenUs: this.#prior.tokenUs * scale,
      batchSlope: this.#prior.batchSlope,
    });
    this.#fit = fit;
    for (const sample of this.#first.splice(0)) this.#observeTokens(fit, sample);
  }

  #observeTokens(fit: ProfileFit, sample: CallSample): void {
    const { uncachedTokens, outputTokens } = { ...sizeOf(sample), ...uncachedOf(sample) };
    const hasPlace = this.#errors.has(sample.stage) || this.#errors.size < MOST_ROUTES;
    const stage = hasPlace ? sample.stage : "";
    this.#errors.set(stage, 0);
    const { meanBatch, totalMs } = sample;
    fit.observe({ stage, uncachedTokens, outputTokens, meanBatch, tookUs: totalMs * US_PER_MS });
  }

  #observeRoute({ stage, totalMs }: CallSample): void {
    const known = this.#routesUs.get(stage);
    if (known === undefined && this.#routesUs.size >= MOST_ROUTES) return;
    const us = totalMs * US_PER_MS;
    this.#routesUs.set(stage, known === undefined ? us : known + ROUTE_WEIGHT * (us - known));
  }
}

function sizeOf(sample: CallSample): Parameters<typeof exactServiceUs>[1] {
  const { promptTokens, outputTokens, cachedTokens } = sample;
  return { inputTokens: promptTokens, outputTokens, cachedTokens };
}

function uncachedOf({ promptTokens, cachedTokens }: CallSample): { uncachedTokens: number } {
  return { uncachedTokens: Math.max(promptTokens - cachedTokens, 0) };
}

function rounded(profile: CardProfile): CardProfile {
  const { prefillTokensPerS, tokenUs, batchSlope } = profile;
  return {
    prefillTokensPerS: Number(prefillTokensPerS.toPrecision(6)),
    tokenUs: Number(tokenUs.toPrecision(6)),
    batchSlope: Number(batchSlope.toPrecision(4)),
  };
}
