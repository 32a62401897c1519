/**
 * What the calls of this pod turned out to be: measured one by one, kept until the next report,
 * the newest when there are more than a report takes.
 */
import type { CallNote } from "../../common/contracts/call-note.ts";
import type { CallSample } from "../../common/contracts/push.ts";
import { MAX_SAMPLES } from "../../common/contracts/push.ts";
import type { Usage } from "./answer-tap.ts";

/** Ended in the container, with an answer that counts. */
export interface EndedCall {
  readonly note: CallNote;
  readonly usage: Usage | undefined;
  readonly startedAt: number;
  /** 0 for an answer in one piece. */
  readonly firstAt: number;
  readonly endedAt: number;
  readonly meanBatch: number;
}

export class CallSamples {
  #samples: CallSample[] = [];

  get hasSome(): boolean {
    return this.#samples.length > 0;
  }

  add(call: EndedCall): void {
    this.#samples.push(sampleOf(call));
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /** Hands them over for a report. */
  take(): readonly CallSample[] {
    const taken = this.#samples;
    this.#samples = [];
    return taken;
  }
}

function sampleOf(call: EndedCall): CallSample {
  const { note, usage, startedAt, firstAt, endedAt, meanBatch } = call;
  const isCounted = usage !== undefined && usage.promptTokens >= 0;
  return {
    model: note.model,
    stage: note.stage,
    workflowClass: note.workflowClass,
    promptTokens: isCounted ? usage.promptTokens : note.promptTokens,
    cachedTokens: usage?.cachedTokens ?? 0,
    outputTokens: usage?.outputTokens ?? -1,
    characters: isCounted ? Math.max(note.characters, 0) : 0,
    messages: isCounted ? Math.max(note.messages, 0) : 0,
    firstMs: firstAt === 0 ? 0 : rounded(firstAt - startedAt),
    totalMs: rounded(endedAt - startedAt),
    meanBatch: rounded(Math.max(1, meanBatch)),
  };
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** Mean number of calls that run, over any stretch of time: the integral at both ends. */
export class BatchMeter {
  #integral = 0;
  #since = 0;
  #running = 0;

  /** To be told before the number changes. */
  changed(running: number, now: number): void {
    this.#integral = this.integralAt(now);
    this.#since = now;
    this.#running = running;
  }

  integralAt(now: number): number {
    return this.#integral + this.#running * Math.max(0, now - this.#since);
  }
}
