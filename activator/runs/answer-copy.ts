/** Keeps a copy of the answer that a caller waits for, until it can go to a webhook. */
import type { OwnAnswer } from "../../proxy/types.ts";
import { keptHeaders } from "../core/run-answer.ts";
import type { Follower } from "../follower.ts";

export interface CopiedAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly tooLarge: boolean;
}

export class AnswerCopy implements Follower {
  readonly #mostBytes: number;
  readonly #onAnswer: (answer: CopiedAnswer | null) => void;
  #status = 0;
  #headers: readonly string[] = [];
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** `null`: the answer broke off, or its caller left, so there is none to send. */
  constructor(mostBytes: number, onAnswer: (answer: CopiedAnswer | null) => void) {
    this.#mostBytes = mostBytes;
    this.#onAnswer = onAnswer;
  }

  began(status: number, headers: readonly string[]): void {
    this.#status = status;
    this.#headers = keptHeaders(headers);
  }

  chunk(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#mostBytes) this.#pieces.push(Buffer.from(bytes));
    else this.#pieces = [];
  }

  ended(isComplete: boolean): void {
    if (!isComplete) return this.#onAnswer(null);
    const tooLarge = this.#bytes > this.#mostBytes;
    const body = Buffer.concat(this.#pieces);
    this.#onAnswer({ status: this.#status, headers: this.#headers, body, tooLarge });
  }

  answered(answer: OwnAnswer): void {
    this.#onAnswer({
      status: answer.status,
      headers: keptHeaders(answer.headers),
      body: Buffer.from(answer.body),
      tooLarge: false,
    });
  }
}
