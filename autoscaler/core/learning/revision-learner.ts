/** What the calls of one revision teach: its cards, the tokens of its models, and its recent past. */
import type { LoggedCall, LoggedSample } from "../../../common/contracts/call-log.ts";
import { TokenRatio } from "../../../common/hexgen/body-estimate.ts";
import type { AlphaChoice, RevisionKnowledge } from "../../../common/hexgen/knowledge.ts";
import { CardLearner } from "./card-learner.ts";

/** Names of models come from callers. */
const MOST_MODELS = 32;
const MOST_CARDS = 64;
/** The window of the tuner: at least the last ten minutes, and at most so many calls. */
const MOST_CALLS = 20_000;

export class RevisionLearner {
  readonly #cards = new Map<string, CardLearner>();
  readonly #ratios = new Map<string, { ratio: TokenRatio; calls: number }>();
  #calls: LoggedCall[] = [];
  alpha: AlphaChoice | null = null;

  /** Ended calls, oldest first. */
  get calls(): readonly LoggedCall[] {
    return this.#calls;
  }

  get cards(): ReadonlyMap<string, CardLearner> {
    return this.#cards;
  }

  observeSample(sample: LoggedSample): void {
    let card = this.#cards.get(sample.card);
    if (card === undefined && this.#cards.size < MOST_CARDS) {
      this.#cards.set(sample.card, (card = new CardLearner(sample.card)));
    }
    card?.observe(sample);
    if (sample.characters > 0 && sample.model !== "") this.#observeRatio(sample);
  }

  observeCall(call: LoggedCall): void {
    this.#calls.push(call);
    if (this.#calls.length > 2 * MOST_CALLS) this.#calls = this.#calls.slice(-MOST_CALLS);
  }

  learnt(pool: Readonly<Record<string, number>>): RevisionKnowledge {
    return {
      cards: Object.fromEntries([...this.#cards].map(([name, card]) => [name, card.learnt()])),
      charsPerToken: Object.fromEntries(
        [...this.#ratios].map(([model, { ratio }]) => [
          model,
          Number(ratio.charsPerToken(0).toFixed(3)),
        ]),
      ),
      pool,
      alpha: this.alpha,
    };
  }

  #observeRatio({ model, characters, messages, promptTokens }: LoggedSample): void {
    let known = this.#ratios.get(model);
    if (known === undefined) {
      if (this.#ratios.size >= MOST_MODELS) return;
      this.#ratios.set(model, (known = { ratio: new TokenRatio(), calls: 0 }));
    }
    known.calls += 1;
    known.ratio.observe(characters, messages, promptTokens);
  }
}
