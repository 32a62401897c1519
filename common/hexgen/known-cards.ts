/**
 * First guesses for cards that were never measured: a 70-billion-parameter model at 4 bits on one
 * card, fitted to published times per call. Profile fitting corrects them within a few calls.
 */
import type { CardProfile } from "./cost.ts";

export interface KnownCard {
  readonly profile: CardProfile;
  /** Tokens of key-value cache beside the weights. */
  readonly kvTokens: number;
}

const card = (prefillTokensPerS: number, tokenUs: number, kvTokens: number): KnownCard => ({
  profile: { prefillTokensPerS, tokenUs, batchSlope: 0 },
  kvTokens,
});

export const KNOWN_CARDS: Readonly<Record<string, KnownCard>> = {
  A100: card(3_028, 21_210, 57_600),
  H100: card(8_182, 10_830, 545_900),
  A6000: card(1_035, 33_790, 155_300),
  A40: card(1_012, 42_390, 155_300),
  L40: card(1_736, 38_210, 155_300),
  A800: card(5_836, 13_890, 545_900),
};

/** The prior of a card by name; `undefined` when nothing is known about it. */
export function knownCard(name: string): KnownCard | undefined {
  return Object.hasOwn(KNOWN_CARDS, name) ? KNOWN_CARDS[name] : undefined;
}
