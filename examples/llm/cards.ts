/**
 * How fast the simulated cards are. The figures are those of a 70 B model, rounded from published
 * measurements of the cards whose names they bear; no card and no model is behind them.
 */

export interface CardSpeed {
  readonly name: string;
  /** Tokens of the prompt that are read per second. */
  readonly prefillTokensPerSecond: number;
  /** Time from one token of the answer to the next. */
  readonly decodeMsPerToken: number;
}

const CARDS: Readonly<Record<string, CardSpeed>> = {
  a100: { name: "a100", prefillTokensPerSecond: 3_050, decodeMsPerToken: 35 },
  a6000: { name: "a6000", prefillTokensPerSecond: 1_035, decodeMsPerToken: 58 },
};

/** `LLM_CARD` picks a card, the other two variables overrule its speeds. */
export function cardFromEnvironment(env: Readonly<Record<string, string | undefined>>): CardSpeed {
  const name = env["LLM_CARD"] ?? "a100";
  const card = CARDS[name];
  if (card === undefined) {
    const known = Object.keys(CARDS).join(", ");
    throw new Error(`LLM_CARD is "${name}"; expected one of ${known}.`);
  }
  return {
    name,
    prefillTokensPerSecond: readNumber(env, "LLM_PREFILL_TOKENS_PER_S", {
      min: 1,
      fallback: card.prefillTokensPerSecond,
    }),
    decodeMsPerToken: readNumber(env, "LLM_DECODE_MS_PER_TOKEN", {
      min: 0,
      fallback: card.decodeMsPerToken,
    }),
  };
}

/** A number from the environment; the service does not start with a wrong one. */
export function readNumber(
  env: Readonly<Record<string, string | undefined>>,
  variable: string,
  { min, fallback }: { readonly min: number; readonly fallback: number },
): number {
  const text = env[variable];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!(value >= min)) throw new Error(`${variable} is "${text}"; expected a number from ${min}.`);
  return value;
}
