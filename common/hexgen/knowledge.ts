/**
 * What the platform has learnt of a revision and of a class of workflows, as the autoscaler writes
 * it to the store and activators read it. Opaque texts to the store; a damaged one counts as none.
 */
import type { CardProfile } from "./cost.ts";

/** Calls on a card after which its figures count (bar). */
export const MEASURED_CALLS = 10;

export interface LearntCard {
  readonly profile: CardProfile;
  readonly calls: number;
  /** Mean relative error of the predictions, newest calls weighing most. */
  readonly error: number;
  /** Of calls without tokens: mean time in us by route or stage. */
  readonly routesUs: Readonly<Record<string, number>>;
  /** Share of the prompt prefixes' tokens in the last calls that the engine still had. */
  readonly cachedShare: number;
  /** Stages whose predictions have been off for long, and by how much; absent when there is none. */
  readonly stagesOff?: Readonly<Record<string, number>>;
}

export interface AlphaChoice {
  readonly alpha: number;
  /** Grows by one with each change. */
  readonly version: number;
  readonly predictedTail: number;
  /** Workflows of the window, and the instant of the choice in ms. */
  readonly window: number;
  readonly at: number;
  /** What held before; roll-back writes it again. */
  readonly previous: number;
  readonly reason: string;
}

export interface RevisionKnowledge {
  /** By the name that targets report as `card`. */
  readonly cards: Readonly<Record<string, LearntCard>>;
  /** Characters per token by model. */
  readonly charsPerToken: Readonly<Record<string, number>>;
  /** Ready targets by card. */
  readonly pool: Readonly<Record<string, number>>;
  readonly alpha: AlphaChoice | null;
}

export const NOTHING_KNOWN: RevisionKnowledge = {
  cards: {},
  charsPerToken: {},
  pool: {},
  alpha: null,
};

export interface StageKnowledge {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputMedian: number;
  readonly outputUpper: number;
  /** Expected time of a typical call, mean over the pool that serves it, whole us. */
  readonly expectedUs: number;
}

export interface ClassStage {
  readonly stage: string;
  readonly optional: boolean;
  readonly probability: number;
}

export interface ClassKnowledge {
  readonly template: readonly ClassStage[];
  readonly stages: Readonly<Record<string, StageKnowledge>>;
  readonly workflows: number;
}

/** Reads a text of the store back; `undefined` when it is none of ours. */
export function parseKnowledge(text: string | null): RevisionKnowledge | undefined {
  const value = parseRecord(text);
  if (value === undefined || !isRecord(value["cards"]) || !isRecord(value["pool"]))
    return undefined;
  // Written by the autoscaler from this type; fields that came later have their empty value.
  return { ...NOTHING_KNOWN, ...(value as Partial<RevisionKnowledge>) };
}

export function parseClassKnowledge(text: string | null): ClassKnowledge | undefined {
  const value = parseRecord(text);
  if (value === undefined || !Array.isArray(value["template"])) return undefined;
  if (!isRecord(value["stages"])) return undefined;
  // As above.
  return { workflows: 0, ...(value as Partial<ClassKnowledge>) } as ClassKnowledge;
}

function parseRecord(text: string | null): Record<string, unknown> | undefined {
  if (text === null || text === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
