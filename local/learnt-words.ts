/** What was learnt of a revision as a few lines for people: its cards, and which alpha holds. */
import { INITIAL_ALPHA } from "../common/hexgen/alpha.ts";
import type { LearntCard, RevisionKnowledge } from "../common/hexgen/knowledge.ts";

export function learntInWords({ cards, pool, alpha }: RevisionKnowledge): string {
  const lines = Object.entries(cards).map(([name, card]) => cardLine(name, card, pool[name] ?? 0));
  const choice =
    alpha === null
      ? `alpha ${INITIAL_ALPHA}, where it begins`
      : `alpha ${alpha.alpha}, version ${alpha.version}, since ${new Date(alpha.at).toISOString()}: ` +
        `${alpha.reason} over ${alpha.window} workflows, ${alpha.previous} before`;
  return [...lines, choice].join("\n");
}

function cardLine(name: string, { profile, calls, error }: LearntCard, targets: number): string {
  const reads = `${Math.round(profile.prefillTokensPerS)} tokens/s in`;
  const writes = `${(profile.tokenUs / 1_000).toFixed(2)} ms per token out`;
  return `card ${name} x${targets}: ${reads}, ${writes}, ${calls} calls, off by ${Math.round(error * 100)} %`;
}
