/**
 * Which prompt prefixes a card holds. `PrefixMemory` never forgets: the optimistic model of the
 * golden runs. `PrefixCache` works in blocks, has the room that running calls leave, and drops what
 * was not used for longest. A chained stage reuses most of its own workflow's previous prompt.
 */
import type { CallPoint } from "./engine.ts";
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
  prefillStarted(facts: StageFacts, prompt: Prompt): void;
  reached(facts: StageFacts, prompt: Prompt, point: CallPoint): void;
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

  prefillStarted(facts: StageFacts, prompt: Prompt): void {
    this.#seenStages.add(prompt.stageIndex);
    if (facts.isChained) this.#chains.add(prompt.workflow);
  }

  reached(): void {}
}

const wholeBlocks = (tokens: number): number => Math.floor(tokens / BLOCK_TOKENS) * BLOCK_TOKENS;

interface CachedPrefix {
  tokens: number;
  /** Running calls that read it; it cannot be dropped while there are any. */
  readers: number;
}

export class PrefixCache implements PrefixStore {
  /** A Map keeps the order of use, oldest first. */
  readonly #entries = new Map<string, CachedPrefix>();
  readonly #read = new Map<Prompt, CachedPrefix>();
  #tokens = 0;
  #pinnedTokens = 0;

  /** Tokens of the prefixes that running calls read. */
  get pinnedTokens(): number {
    return this.#pinnedTokens;
  }

  cachedTokens(facts: StageFacts, prompt: Prompt): number {
    if (facts.isChained && this.#entries.has(chainKey(prompt))) {
      return wholeBlocks(withoutLastBlock(chainedTokens(prompt), prompt));
    }
    const shared = this.#entries.get(stageKey(prompt))?.tokens ?? 0;
    return wholeBlocks(withoutLastBlock(shared, prompt));
  }

  prefillStarted(facts: StageFacts, prompt: Prompt): void {
    this.#release(prompt);
    const chain = facts.isChained ? this.#entries.get(chainKey(prompt)) : undefined;
    const entry = chain ?? this.#entries.get(stageKey(prompt));
    if (entry === undefined) return;
    if (entry.readers === 0) this.#pinnedTokens += entry.tokens;
    entry.readers += 1;
    this.#read.set(prompt, entry);
  }

  /** What all calls share is there after the first prefill; a call's own prompt, once it ended. */
  reached(facts: StageFacts, prompt: Prompt, point: CallPoint): void {
    if (point === "prefilled") {
      this.#use(stageKey(prompt), wholeBlocks(facts.sharedPrefixTokens));
      return;
    }
    this.#release(prompt);
    if (facts.isChained) this.#use(chainKey(prompt), wholeBlocks(prompt.inputTokens));
  }

  /** Drops the prefixes that nobody reads and were not used for longest, until the rest fits. */
  shrinkTo(roomTokens: number): void {
    for (const [key, entry] of this.#entries) {
      if (this.#tokens <= roomTokens) return;
      if (entry.readers > 0) continue;
      this.#entries.delete(key);
      this.#tokens -= entry.tokens;
    }
  }

  #release(prompt: Prompt): void {
    const entry = this.#read.get(prompt);
    if (entry === undefined) return;
    this.#read.delete(prompt);
    entry.readers -= 1;
    if (entry.readers === 0) this.#pinnedTokens -= entry.tokens;
  }

  #use(key: string, tokens: number): void {
    const entry = this.#entries.get(key) ?? { tokens: 0, readers: 0 };
    this.#tokens += tokens - entry.tokens;
    if (entry.readers > 0) this.#pinnedTokens += tokens - entry.tokens;
    entry.tokens = tokens;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }
}

const stageKey = (prompt: Prompt): string => `stage ${prompt.stageIndex}`;
const chainKey = (prompt: Prompt): string => `chain ${prompt.stageIndex} ${prompt.workflow}`;
