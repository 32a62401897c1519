/**
 * Which prompt prefixes a card holds. `PrefixMemory` never forgets: the optimistic model of the
 * golden runs. `PrefixCache` works in blocks, has the room that running calls leave, and drops what
 * was not used for longest. A chained stage reuses most of its own workflow's previous prompt.
 */
import type { StageFacts } from "./workload.ts";

/** Part of the prompt that a chained call shares with the previous one, in percent. */
const CHAINED_PERCENT = 95;
/** Tokens at the end of a prompt that are never served from a cache; also the block size. */
const BLOCK_TOKENS = 16;

export interface Prompt {
  readonly workflow: number;
  readonly stageIndex: number;
  readonly inputTokens: number;
}

export interface PrefixStore {
  /** Cached tokens of the prompt if its prefill started on this card now. */
  cachedTokens(facts: StageFacts, prompt: Prompt): number;
  /** A prefill of the prompt has started here. */
  remember(facts: StageFacts, prompt: Prompt): void;
}

function chainedTokens(prompt: Prompt): number {
  return Math.floor((CHAINED_PERCENT * prompt.inputTokens) / 100);
}

function withoutLastBlock(tokens: number, prompt: Prompt): number {
  return Math.max(Math.min(tokens, prompt.inputTokens - BLOCK_TOKENS), 0);
}

export class PrefixMemory implements PrefixStore {
  readonly #seenStages = new Set<number>();
  readonly #chains = new Set<number>();

  cachedTokens(facts: StageFacts, prompt: Prompt): number {
    if (facts.isChained && this.#chains.has(prompt.workflow)) {
      return withoutLastBlock(chainedTokens(prompt), prompt);
    }
    if (!this.#seenStages.has(prompt.stageIndex)) return 0;
    return withoutLastBlock(facts.sharedPrefixTokens, prompt);
  }

  remember(facts: StageFacts, prompt: Prompt): void {
    this.#seenStages.add(prompt.stageIndex);
    if (facts.isChained) this.#chains.add(prompt.workflow);
  }
}

const wholeBlocks = (tokens: number): number => Math.floor(tokens / BLOCK_TOKENS) * BLOCK_TOKENS;

export class PrefixCache implements PrefixStore {
  /** Tokens per entry; a Map keeps the order of use, oldest first. */
  readonly #entries = new Map<string, number>();
  #tokens = 0;

  cachedTokens(facts: StageFacts, prompt: Prompt): number {
    const chain = facts.isChained ? this.#entries.get(chainKey(prompt)) : undefined;
    if (chain !== undefined) return wholeBlocks(withoutLastBlock(chainedTokens(prompt), prompt));
    const shared = this.#entries.get(stageKey(prompt)) ?? 0;
    return wholeBlocks(withoutLastBlock(shared, prompt));
  }

  remember(facts: StageFacts, prompt: Prompt): void {
    this.#use(stageKey(prompt), wholeBlocks(facts.sharedPrefixTokens));
    if (facts.isChained) this.#use(chainKey(prompt), wholeBlocks(prompt.inputTokens));
  }

  /** Drops the entries that were not used for longest until the rest fits. */
  shrinkTo(roomTokens: number): void {
    for (const [key, tokens] of this.#entries) {
      if (this.#tokens <= roomTokens) return;
      this.#entries.delete(key);
      this.#tokens -= tokens;
    }
  }

  #use(key: string, tokens: number): void {
    this.#tokens += tokens - (this.#entries.get(key) ?? 0);
    this.#entries.delete(key);
    this.#entries.set(key, tokens);
  }
}

const stageKey = (prompt: Prompt): string => `stage ${prompt.stageIndex}`;
const chainKey = (prompt: Prompt): string => `chain ${prompt.stageIndex} ${prompt.workflow}`;
