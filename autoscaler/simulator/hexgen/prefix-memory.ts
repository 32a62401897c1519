/**
 * Which prompt prefixes each card has seen, without eviction: the optimistic model of the golden
 * runs. A chained stage reuses most of its own workflow's previous prompt.
 */
import type { StageFacts } from "./workload.ts";

/** Part of the prompt that a chained call shares with the previous one, in percent. */
const CHAINED_PERCENT = 95;
/** Tokens at the end of a prompt that are never served from the cache. */
const FRESH_TOKENS = 16;

export class PrefixMemory {
  readonly #seenStages = new Set<number>();
  readonly #chains = new Set<number>();

  /** Cached tokens of a prompt of that length if it started on this card now. */
  cachedTokens(
    facts: StageFacts,
    stageIndex: number,
    call: { readonly workflow: number; readonly inputTokens: number },
  ): number {
    const most = call.inputTokens - FRESH_TOKENS;
    let cached = 0;
    if (facts.isChained && this.#chains.has(call.workflow)) {
      cached = Math.min(Math.floor((CHAINED_PERCENT * call.inputTokens) / 100), most);
    } else if (this.#seenStages.has(stageIndex)) {
      cached = Math.min(facts.sharedPrefixTokens, most);
    }
    return Math.max(cached, 0);
  }

  /** A prefill of that stage has started here. */
  remember(facts: StageFacts, stageIndex: number, workflow: number): void {
    this.#seenStages.add(stageIndex);
    if (facts.isChained) this.#chains.add(workflow);
  }
}
