/** Bodies of the two generation calls, checked: what a client may send, and what it means here. */
import { HttpError } from "../serve.ts";
import { answerTo, countTokens, splitTokens } from "./words.ts";

export interface GenerationRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly prompt: string;
  readonly promptTokens: number;
  /** The answer, already cut to what the caller allows. */
  readonly tokens: readonly string[];
  readonly finishReason: "stop" | "length";
}

type Fields = Readonly<Record<string, unknown>>;

/** A failure in the shape that OpenAI clients read. */
export function invalidRequest(message: string, param: string | null = null): HttpError {
  const error = { message, type: "invalid_request_error", param, code: null };
  return new HttpError(400, message, { error });
}

export function parseChat(body: Buffer, model: string): GenerationRequest {
  const fields = parseObject(body);
  const { messages } = fields;
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalidRequest("messages must be a list with at least one message.", "messages");
  }
  const texts = messages.map((message: unknown, index) => messageText(message, index));
  return generation(fields, texts.join("\n"), { question: texts.at(-1) ?? "", model });
}

export function parseCompletion(body: Buffer, model: string): GenerationRequest {
  const fields = parseObject(body);
  const { prompt } = fields;
  const text = Array.isArray(prompt) && prompt.length === 1 ? (prompt[0] as unknown) : prompt;
  if (typeof text !== "string") {
    throw invalidRequest("prompt must be a text, or a list with one text.", "prompt");
  }
  return generation(fields, text, { question: text, model });
}

function generation(
  fields: Fields,
  prompt: string,
  { question, model }: { question: string; model: string },
): GenerationRequest {
  const least = tokenLimit(fields["min_tokens"], "min_tokens") ?? 1;
  const all = atLeast(splitTokens(answerTo(question)), Math.min(least, MOST_TOKENS));
  const limit = maxTokens(fields) ?? all.length;
  const options = fields["stream_options"];
  return {
    model: typeof fields["model"] === "string" ? fields["model"] : model,
    stream: fields["stream"] === true,
    includeUsage: isObject(options) && options["include_usage"] === true,
    prompt,
    promptTokens: countTokens(prompt),
    tokens: all.slice(0, limit),
    finishReason: limit < all.length ? "length" : "stop",
  };
}

/** Longest answer that somebody may ask for; the prepared words are repeated up to it. */
const MOST_TOKENS = 100_000;

function atLeast(tokens: readonly string[], count: number): string[] {
  const times = Math.max(1, Math.ceil(count / tokens.length));
  return Array.from({ length: times }, () => tokens)
    .flat()
    .slice(0, Math.max(tokens.length, count));
}

function maxTokens(fields: Fields): number | undefined {
  return tokenLimit(fields["max_completion_tokens"] ?? fields["max_tokens"], "max_tokens");
}

function tokenLimit(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isInteger(value) || Number(value) < 1) {
    const got = JSON.stringify(value);
    throw invalidRequest(`${name} must be an integer from 1, got ${got}.`, name);
  }
  return Number(value);
}

/** The content of a message is a text, or parts of which those with text count. */
function messageText(message: unknown, index: number): string {
  const content = isObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return content;
  if (Array.isArray(content)) {
    return content
      .map((part: unknown) =>
        isObject(part) && typeof part["text"] === "string" ? part["text"] : "",
      )
      .join("");
  }
  throw invalidRequest("content must be a text or a list of parts.", `messages[${index}].content`);
}

function parseObject(body: Buffer): Fields {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    throw invalidRequest("The body is not JSON.");
  }
  if (!isObject(value)) throw invalidRequest("The body must be a JSON object.");
  return value;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
