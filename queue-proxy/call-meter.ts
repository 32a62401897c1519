/**
 * Measures one call in the container, from its start to the end of its answer. Only calls that the
 * activator announced are measured; all others pass untouched.
 */
import type { Clock } from "../common/clock.ts";
import type { CallNote } from "../common/contracts/call-note.ts";
import { getHeader } from "../proxy/headers.ts";
import type { ResponseHead } from "../proxy/types.ts";
import { AnswerTap } from "./core/answer-tap.ts";
import type { BatchMeter, CallSamples } from "./core/call-samples.ts";

export interface CallMeterParts {
  readonly clock: Clock;
  readonly batch: BatchMeter;
  readonly samples: CallSamples;
}

export class CallMeter {
  readonly #parts: CallMeterParts;
  readonly #note: CallNote;
  readonly #startedAt: number;
  readonly #integral: number;
  #tap: AnswerTap | undefined;

  constructor(parts: CallMeterParts, note: CallNote) {
    this.#parts = parts;
    this.#note = note;
    this.#startedAt = parts.clock.now();
    this.#integral = parts.batch.integralAt(this.#startedAt);
  }

  /** An answer that failed or was packed says nothing about the speed of the engine. */
  answered(head: ResponseHead): void {
    const isReadable = getHeader(head.headers, "content-encoding") === undefined;
    if (head.status !== 200 || !isReadable) return;
    this.#tap = new AnswerTap(getHeader(head.headers, "content-type") ?? "");
  }

  chunk(bytes: Buffer): void {
    this.#tap?.chunk(bytes, this.#parts.clock.now());
  }

  /** The answer is complete. */
  done(): void {
    if (this.#tap === undefined) return;
    const { clock, batch, samples } = this.#parts;
    const endedAt = clock.now();
    const tookMs = Math.max(endedAt - this.#startedAt, Number.EPSILON);
    samples.add({
      note: this.#note,
      usage: this.#tap.usage(),
      startedAt: this.#startedAt,
      firstAt: this.#tap.firstAt,
      endedAt,
      meanBatch: (batch.integralAt(endedAt) - this.#integral) / tookMs,
    });
  }
}
