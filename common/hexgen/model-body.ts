/**
 * Reads what matters for scheduling from the JSON body of a known model API: size of the prompt,
 * limits of the answer, and fingerprints of its beginning for prefix reuse. Tolerant: a body it
 * does not know gives `undefined`, never an error.
 */

export interface ModelBody {
  readonly model: string;
  readonly characters: number;
  readonly messages: number;
  readonly imageTokens: number;
  /** Share of Chinese, Japanese and Korean characters, 0 to 1. */
  readonly cjkShare: number;
  readonly maxTokens: number | undefined;
  readonly answers: number;
  /** One per length in `FINGERPRINT_LENGTHS` that the prompt reaches. */
  readonly fingerprints: readonly string[];
}

/** Characters of the serialised messages that one fingerprint covers. */
export const FINGERPRINT_LENGTHS: readonly number[] = [1024, 2048, 4096, 8192, 16_384];

/** Tile cost of vision models: a base, and per tile of 512 pixels; four tiles when unknown. */
const IMAGE_BASE_TOKENS = 85;
const IMAGE_TILE_TOKENS = 170;
const IMAGE_TILES_UNKNOWN = 4;
/** Characters looked at for the kind of text. */
const SAMPLE_CHARACTERS = 2048;

interface Collected {
  text: string[];
  messages: number;
  imageTokens: number;
}

export function readModelBody(body: unknown): ModelBody | undefined {
  if (!isRecord(body)) return undefined;
  const collected: Collected = { text: [], messages: 0, imageTokens: 0 };
  if (Array.isArray(body["messages"])) collectMessages(body["messages"], collected);
  else if (!collectPrompt(body["prompt"] ?? body["input"], collected)) return undefined;
  const text = collected.text.join("\n");
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    characters: collected.text.reduce((sum, part) => sum + part.length, 0),
    messages: collected.messages,
    imageTokens: collected.imageTokens,
    cjkShare: cjkShare(text),
    maxTokens:
      positiveInteger(body["max_completion_tokens"]) ?? positiveInteger(body["max_tokens"]),
    answers: positiveInteger(body["n"]) ?? 1,
    fingerprints: fingerprints(text),
  };
}

function collectMessages(messages: readonly unknown[], into: Collected): void {
  for (const message of messages) {
    if (!isRecord(message)) continue;
    into.messages += 1;
    const content = message["content"];
    if (typeof content === "string") into.text.push(content);
    else if (Array.isArray(content)) for (const part of content) collectPart(part, into);
  }
}

function collectPart(part: unknown, into: Collected): void {
  if (!isRecord(part)) return;
  if (typeof part["text"] === "string") into.text.push(part["text"]);
  else if (part["type"] === "image_url") into.imageTokens += imageTokens(part["image_url"]);
}

/** A prompt of the completions and embeddings forms: text, texts, or token numbers. */
function collectPrompt(prompt: unknown, into: Collected): boolean {
  if (typeof prompt === "string") into.text.push(prompt);
  else if (Array.isArray(prompt)) {
    for (const part of prompt) if (typeof part === "string") into.text.push(part);
  } else return false;
  return true;
}

function imageTokens(image: unknown): number {
  const detail = isRecord(image) ? image["detail"] : undefined;
  const tiles = detail === "low" ? 0 : IMAGE_TILES_UNKNOWN;
  return IMAGE_BASE_TOKENS + tiles * IMAGE_TILE_TOKENS;
}

const CJK = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g;

function cjkShare(text: string): number {
  const sample = text.slice(0, SAMPLE_CHARACTERS);
  return sample === "" ? 0 : (sample.match(CJK)?.length ?? 0) / sample.length;
}

function fingerprints(text: string): string[] {
  const found: string[] = [];
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  let position = 0;
  for (const length of FINGERPRINT_LENGTHS) {
    if (text.length < length) break;
    for (; position < length; position += 1) {
      const code = text.charCodeAt(position);
      high = Math.imul(high ^ code, 2_654_435_761);
      low = Math.imul(low ^ code, 1_597_334_677);
    }
    found.push(`${hex(high)}${hex(low ^ (high >>> 15))}`);
  }
  return found;
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}

function positiveInteger(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
