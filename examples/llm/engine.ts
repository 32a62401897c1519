/**
 * The simulated engine: real waiting in place of real computing. Prompts are read one after the
 * other, as one card reads them; answers are written side by side, as a batching engine does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { CardSpeed } from "./cards.ts";

export interface Generation {
  readonly promptTokens: number;
  readonly tokens: readonly string[];
  readonly signal: AbortSignal;
}

export class Engine {
  readonly #card: CardSpeed;
  /** When the card will have read all prompts that it was given. */
  #prefillFreeAt = 0;

  constructor(card: CardSpeed) {
    this.#card = card;
  }

  async *generate({ promptTokens, tokens, signal }: Generation): AsyncGenerator<string> {
    const prefillMs = (promptTokens / this.#card.prefillTokensPerSecond) * 1_000;
    const startAt = Math.max(performance.now(), this.#prefillFreeAt);
    this.#prefillFreeAt = startAt + prefillMs;
    let dueAt = this.#prefillFreeAt;
    for (const token of tokens) {
      dueAt += this.#card.decodeMsPerToken;
      // Against the plan and not the last token, so that late timers do not add up.
      await sleep(Math.max(0, dueAt - performance.now()), undefined, { signal });
      yield token;
    }
  }
}
