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
  /** Tokens of prompts that its key-value cache holds at once. */
  readonly kvTokens: number;
  /** Tokens of earlier prompts that it keeps; 0: none. */
  readonly prefixCacheTokens: number;
  /** The card's clock runs that many times as fast as ours. */
  readonly timeScale: number;
}

type NamedCard = Pick<
  CardSpeed,
  "name" | "prefillTokensPerSecond" | "decodeMsPerToken" | "kvTokens"
>;

const CARDS: Readonly<Record<string, NamedCard>> = {
  a100: {
    name: "a100",
    prefillTokensPerSecond: 3_050,
    decodeMsPerToken: 35,
    kvTokens: 57_600,
  },
  a6000: {
    name: "a6000",
    prefillTokensPerSecond: 1_035,
    decodeMsPerToken: 58,
    kvTokens: 155_300,
  },
};

/**
 * `LLM_CARD` picks a card, else the card that the platform gave the pod does; the other variables
 * overrule its figures.
 */
export function cardFromEnvironment(env: Readonly<Record<string, string | undefined>>): CardSpeed {
  const given = env["PILOTLIGHT_CARD"]?.toLowerCase() ?? "";
  const name = env["LLM_CARD"] ?? (given in CARDS ? given : "a100");
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
      min: 0.001,
      fallback: card.decodeMsPerToken,
    }),
    kvTokens: readNumber(env, "LLM_KV_TOKENS", { min: 1, fallback: card.kvTokens }),
    prefixCacheTokens: readNumber(env, "LLM_PREFIX_CACHE_TOKENS", { min: 0, fallback: 65_536 }),
    timeScale: readNumber(env, "LLM_TIME_SCALE", { min: 0.001, fallback: 1 }),
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
