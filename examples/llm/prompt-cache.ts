/**
 * The beginnings of prompts that the simulated card still has: whole blocks of tokens, the longest
 * match counts, the prompt used longest ago goes first when the room is used up.
 */
import { countTokens } from "./words.ts";

const BLOCK_TOKENS = 16;
const LETTERS_PER_BLOCK = 64;

export class PromptCache {
  readonly #roomTokens: number;
  #prompts: { readonly text: string; readonly tokens: number }[] = [];

  /** No room: nothing is kept. */
  constructor(roomTokens: number) {
    this.#roomTokens = roomTokens;
  }

  /** Tokens of the prompt's beginning that are there; from now on all of it is. */
  take(prompt: string): number {
    if (this.#roomTokens === 0) return 0;
    let best = 0;
    for (const { text } of this.#prompts) best = Math.max(best, commonBlocks(text, prompt));
    this.#prompts = this.#prompts.filter(({ text }) => text !== prompt);
    this.#prompts.push({ text: prompt, tokens: countTokens(prompt) });
    let used = this.#prompts.reduce((sum, { tokens }) => sum + tokens, 0);
    while (used > this.#roomTokens && this.#prompts.length > 1) {
      used -= this.#prompts.shift()?.tokens ?? 0;
    }
    return best * BLOCK_TOKENS;
  }
}

function commonBlocks(left: string, right: string): number {
  const most = Math.floor(Math.min(left.length, right.length) / LETTERS_PER_BLOCK);
  let blocks = 0;
  while (blocks < most) {
    const from = blocks * LETTERS_PER_BLOCK;
    const to = from + LETTERS_PER_BLOCK;
    if (left.slice(from, to) !== right.slice(from, to)) break;
    blocks += 1;
  }
  return blocks;
}
