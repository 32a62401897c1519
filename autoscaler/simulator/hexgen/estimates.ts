/**
 * What dispatch believes about a call on each card: solo time and engine time, with what the card
 * has cached. One per simulation; it also keeps the prefix stores that the engines fill.
 */
import { engineTimeOfWay, engineUs, meanLogSpeeds } from "../../../common/hexgen/batch-dispatch.ts";
import { serviceUs } from "../../../common/hexgen/cost.ts";
import type { EngineCache } from "./chunked-engine.ts";
import type { CallPoint } from "./engine.ts";
import type { PrefixStore, Prompt } from "./prefix-memory.ts";
import { PrefixCache, PrefixMemory } from "./prefix-memory.ts";
import type { PoolCard, Scenario } from "./scenario.ts";
import type { StageTimes } from "./stage-times.ts";
import { StageTable } from "./stage-times.ts";

export interface Estimate {
  serviceUs: number;
  engineUs: number;
}

export class Estimates {
  readonly table: StageTable;
  /** Per card, see `meanLogSpeeds`. */
  readonly meanLogSpeeds: readonly number[];
  /** See `engineTimeOfWay`. */
  readonly wayUs: number;
  readonly #pool: readonly PoolCard[];
  readonly #reuse: Scenario["prefixReuse"];
  readonly #isBlind: boolean;
  readonly #stores: readonly PrefixStore[];

  constructor(scenario: Scenario) {
    const { pool, workflowClass, prefixReuse, policy } = scenario;
    this.table = new StageTable(workflowClass, pool);
    this.#pool = pool;
    this.#reuse = prefixReuse;
    this.#isBlind = policy.variant === "prefix-blind";
    this.#stores = pool.map(() =>
      prefixReuse === "evicting" ? new PrefixCache() : new PrefixMemory(),
    );
    const engineUsOf = (stage: string): readonly number[] => this.table.of(stage).engineUs;
    this.meanLogSpeeds = meanLogSpeeds(workflowClass.template, engineUsOf);
    this.wayUs = engineTimeOfWay(workflowClass.template, engineUsOf);
  }

  /** Estimates of a call of that stage and workflow, per card, into `estimates`. */
  fill(times: StageTimes, workflow: number, estimates: readonly Estimate[]): void {
    for (const [ordinal, card] of this.#pool.entries()) {
      const estimate = estimates[ordinal];
      if (estimate === undefined) continue;
      const cachedTokens = this.#typicalCachedTokens(times, workflow, ordinal);
      if (cachedTokens === 0) {
        estimate.serviceUs = times.serviceUs[ordinal] ?? 0;
        estimate.engineUs = times.engineUs[ordinal] ?? 0;
      } else {
        const { inputTokens, outputTokens } = times.facts;
        const size = { inputTokens, outputTokens, cachedTokens };
        estimate.serviceUs = serviceUs(card.profile, size);
        estimate.engineUs = engineUs(card, size);
      }
    }
  }

  /** Cached tokens of a prefill that starts on a card. */
  startPrefill(ordinal: number, prompt: Prompt): number {
    const store = this.#stores[ordinal];
    const facts = this.table.at(prompt.stageIndex)?.facts;
    if (this.#reuse === "off" || store === undefined || facts === undefined) return 0;
    const cached = store.cachedTokens(facts, prompt);
    store.prefillStarted(facts, prompt);
    return cached;
  }

  reached(ordinal: number, prompt: Prompt, point: CallPoint): void {
    const facts = this.table.at(prompt.stageIndex)?.facts;
    if (this.#reuse !== "off" && facts !== undefined) {
      this.#stores[ordinal]?.reached(facts, prompt, point);
    }
  }

  /** The cache that a card shares with its running calls. */
  cacheOf(ordinal: number): EngineCache {
    const store = this.#stores[ordinal];
    if (!(store instanceof PrefixCache)) return { pinnedTokens: () => 0, shrinkTo: () => {} };
    return {
      pinnedTokens: () => store.pinnedTokens,
      shrinkTo: (roomTokens) => store.shrinkTo(roomTokens),
    };
  }

  #typicalCachedTokens(times: StageTimes, workflow: number, ordinal: number): number {
    if (this.#reuse === "off" || this.#isBlind) return 0;
    const { facts, index } = times;
    const prompt = { workflow, stageIndex: index, inputTokens: facts.inputTokens };
    return this.#stores[ordinal]?.cachedTokens(facts, prompt) ?? 0;
  }
}
