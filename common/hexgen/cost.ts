/**
 * What a call costs on a card: prefill of the uncached prompt plus decode of the answer, as one
 * whole number of microseconds. Everything that compares work (outstanding work, scores, budgets,
 * order keys) uses this integer, so TypeScript and Lua agree bit for bit.
 */

/** Speed of one model on one kind of card. */
export interface CardProfile {
  readonly prefillTokensPerS: number;
  /** Time per output token of a call that runs alone. */
  readonly tokenUs: number;
  /** Growth of the token time per further call in the batch. */
  readonly batchSlope: number;
}

/** Sizes of a call in tokens; `cachedTokens` is the part of the prompt that the card still holds. */
export interface CallSize {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
}

/** Rounds halves up, also below zero; the one rounding rule of all times and keys. */
export function roundHalfUp(value: number): number {
  return Math.floor(value + 0.5);
}

/** Service time before rounding, in us, with fractions. */
export function exactServiceUs(profile: CardProfile, size: CallSize): number {
  const uncachedTokens = Math.max(size.inputTokens - size.cachedTokens, 0);
  return (1e6 * uncachedTokens) / profile.prefillTokensPerS + size.outputTokens * profile.tokenUs;
}

/** Service time of a call alone on a card, in whole us. */
export function serviceUs(profile: CardProfile, size: CallSize): number {
  return roundHalfUp(exactServiceUs(profile, size));
}

/** Time of one decode step with that many calls in the batch, in whole us. */
export function decodeStepUs(profile: CardProfile, batch: number): number {
  return roundHalfUp(profile.tokenUs * (1 + profile.batchSlope * (batch - 1)));
}

/** Mean service time over the cards of a pool; the `e` of budgets. */
export function meanServiceUs(profiles: readonly CardProfile[], size: CallSize): number {
  let sumUs = 0;
  for (const profile of profiles) sumUs += serviceUs(profile, size);
  return sumUs / profiles.length;
}
