/**
 * Looks at an answer on its way: when its first piece came, and what the engine says at its end of
 * the tokens it read and wrote. Keeps a bounded tail and no copy of the rest.
 */

/** `usage` stands at the end of an answer and is some hundred bytes long. */
const TAIL_BYTES = 2_048;
const EVENT_END = Buffer.from("\n\n");
/** Events of a stream that carry no token: the closing one and the end mark. */
const EVENTS_WITHOUT_TOKEN = 2;

export interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

export class AnswerTap {
  readonly #isStream: boolean;
  readonly #tail = Buffer.allocUnsafe(2 * TAIL_BYTES);
  #tailBytes = 0;
  #events = 0;
  #endedInBreak = false;
  #firstAt = 0;

  constructor(contentType: string) {
    this.#isStream = contentType.startsWith("text/event-stream");
  }

  /** Instant of the first piece of a stream; 0 for other answers, whose first byte is the last. */
  get firstAt(): number {
    return this.#isStream ? this.#firstAt : 0;
  }

  chunk(bytes: Buffer, now: number): void {
    if (this.#firstAt === 0) this.#firstAt = now;
    if (this.#isStream) this.#countEvents(bytes);
    this.#keepTail(bytes);
  }

  /** What the engine counted; of a stream without counts its events, else `undefined`. */
  usage(): Usage | undefined {
    const text = this.#tail.toString("utf8", 0, this.#tailBytes);
    const stated = readUsage(text);
    if (stated !== undefined || !this.#isStream) return stated;
    const outputTokens = Math.max(0, this.#events - EVENTS_WITHOUT_TOKEN);
    return { promptTokens: -1, cachedTokens: 0, outputTokens };
  }

  #countEvents(bytes: Buffer): void {
    // A break may be cut in two by the pieces.
    if (this.#endedInBreak && bytes[0] === EVENT_END[0]) this.#events += 1;
    let at = bytes.indexOf(EVENT_END);
    while (at >= 0) {
      this.#events += 1;
      at = bytes.indexOf(EVENT_END, at + EVENT_END.length);
    }
    this.#endedInBreak = bytes.at(-1) === EVENT_END[0] && bytes.at(-2) !== EVENT_END[0];
  }

  #keepTail(bytes: Buffer): void {
    const kept = bytes.subarray(-TAIL_BYTES);
    if (this.#tailBytes + kept.length > this.#tail.length) {
      const left = Math.min(this.#tailBytes, TAIL_BYTES);
      this.#tail.copy(this.#tail, 0, this.#tailBytes - left, this.#tailBytes);
      this.#tailBytes = left;
    }
    kept.copy(this.#tail, this.#tailBytes);
    this.#tailBytes += kept.length;
  }
}

const USAGE = /"usage"\s*:\s*\{(?:[^{}]|\{[^{}]*\})*\}/g;

function readUsage(text: string): Usage | undefined {
  const last = [...text.matchAll(USAGE)].at(-1)?.[0];
  if (last === undefined) return undefined;
  const promptTokens = numberAfter(last, "prompt_tokens");
  const outputTokens = numberAfter(last, "completion_tokens");
  if (promptTokens === undefined) return undefined;
  const cachedTokens = Math.min(numberAfter(last, "cached_tokens") ?? 0, promptTokens);
  // Embeddings have a prompt and no answer.
  return { promptTokens, cachedTokens, outputTokens: outputTokens ?? 0 };
}

function numberAfter(text: string, name: string): number | undefined {
  const digits = new RegExp(`"${name}"\\s*:\\s*(\\d{1,9})`).exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
