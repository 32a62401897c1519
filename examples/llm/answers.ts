/** The wire shapes of both generation calls: chat and plain completion, whole and streamed. */
import type { GenerationRequest } from "./requests.ts";

type Json = Readonly<Record<string, unknown>>;

export interface AnswerShape {
  readonly idPrefix: string;
  whole(text: string, finishReason: string): Json;
  readonly object: string;
  /** What a streamed answer starts with, if anything. */
  readonly opening: Json | null;
  piece(text: string): Json;
  readonly closing: Json;
  readonly chunkObject: string;
}

export const CHAT: AnswerShape = {
  idPrefix: "chatcmpl",
  object: "chat.completion",
  whole: (content, finish_reason) => ({
    index: 0,
    message: { role: "assistant", content },
    logprobs: null,
    finish_reason,
  }),
  chunkObject: "chat.completion.chunk",
  opening: { delta: { role: "assistant", content: "" } },
  piece: (content) => ({ delta: { content } }),
  closing: { delta: {} },
};

export const COMPLETION: AnswerShape = {
  idPrefix: "cmpl",
  object: "text_completion",
  whole: (text, finish_reason) => ({ index: 0, text, logprobs: null, finish_reason }),
  chunkObject: "text_completion",
  opening: null,
  piece: (text) => ({ text }),
  closing: { text: "" },
};

export interface AnswerHead {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

/** What was asked for, and what the card still had of its prompt. */
export interface Served {
  readonly wanted: GenerationRequest;
  readonly cachedTokens: number;
}

export function usageOf({ wanted, cachedTokens }: Served): Json {
  const { promptTokens, tokens } = wanted;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: tokens.length,
    total_tokens: promptTokens + tokens.length,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

export function wholeAnswer(shape: AnswerShape, head: AnswerHead, served: Served): Json {
  const { wanted } = served;
  const choice = shape.whole(wanted.tokens.join(""), wanted.finishReason);
  return { ...head, object: shape.object, choices: [choice], usage: usageOf(served) };
}

export function chunk(
  shape: AnswerShape,
  head: AnswerHead,
  piece: Json,
  finishReason: string | null = null,
): string {
  const choice = { index: 0, ...piece, logprobs: null, finish_reason: finishReason };
  return event({ ...head, object: shape.chunkObject, choices: [choice] });
}

export function usageChunk(shape: AnswerShape, head: AnswerHead, served: Served): string {
  return event({ ...head, object: shape.chunkObject, choices: [], usage: usageOf(served) });
}

export const STREAM_END = "data: [DONE]\n\n";

function event(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
