/**
 * Tokens of a call, read off its body before any model saw it: prompt from the characters, answer
 * from the history of the stage, capped by what the caller asked for.
 */
import { DEFAULT_OUTPUT_TOKENS } from "./output-lengths.ts";

const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_CALL = 3;
/** Guards against a quotient that floating point puts just above a whole number. */
const CEIL_SLACK = 1e-9;

export const CHARS_PER_TOKEN = 4;
/** For text that is mostly Chinese, Japanese or Korean. */
export const CJK_CHARS_PER_TOKEN = 2;

export interface PromptShape {
  readonly characters: number;
  readonly messages: number;
  readonly charsPerToken: number;
  /** Tokens of the images, by their tiles. */
  readonly imageTokens?: number;
}

export function estimatePromptTokens(shape: PromptShape): number {
  const textTokens = Math.ceil(shape.characters / shape.charsPerToken - CEIL_SLACK);
  const framing = TOKENS_PER_MESSAGE * shape.messages + TOKENS_PER_CALL;
  return textTokens + framing + (shape.imageTokens ?? 0);
}

export interface AnswerShape {
  /** Median of the stage; `undefined` without history. */
  readonly stageMedian: number | undefined;
  /** Limit of the caller; `undefined` when it set none. */
  readonly maxTokens: number | undefined;
  /** Answers asked for. */
  readonly answers?: number;
  /** The caller's own expectation; it wins over the history. */
  readonly hint?: number | undefined;
}

export function estimateOutputTokens(shape: AnswerShape): number {
  const expected = shape.hint ?? shape.stageMedian ?? DEFAULT_OUTPUT_TOKENS;
  return Math.min(expected, shape.maxTokens ?? Infinity) * (shape.answers ?? 1);
}

/** Weight of the newest answer in the learnt ratio. */
const RATIO_WEIGHT = 0.05;
const SMALLEST_RATIO = 0.5;
const LARGEST_RATIO = 16;

/** Characters per token of a model, learnt from the `usage` of its answers. */
export class TokenRatio {
  #charsPerToken: number | undefined;

  observe(characters: number, messages: number, promptTokens: number): void {
    const textTokens = promptTokens - TOKENS_PER_MESSAGE * messages - TOKENS_PER_CALL;
    if (textTokens <= 0 || characters <= 0) return;
    const seen = Math.min(Math.max(characters / textTokens, SMALLEST_RATIO), LARGEST_RATIO);
    const known = this.#charsPerToken ?? seen;
    this.#charsPerToken = known + RATIO_WEIGHT * (seen - known);
  }

  /** The learnt ratio; before any answer the start value for that text. */
  charsPerToken(cjkShare: number): number {
    if (this.#charsPerToken !== undefined) return this.#charsPerToken;
    return cjkShare > 0.5 ? CJK_CHARS_PER_TOKEN : CHARS_PER_TOKEN;
  }
}
