/**
 * An engine as they are built today: each step carries one token of every decoding call and a
 * chunk of waiting prompts; key-value cache grows with the answers, in blocks, and when it runs out
 * the youngest call is preempted and computed again later.
 */
import { decodeStepUs, roundHalfUp } from "../../../common/hexgen/cost.ts";
import type { Engine, EngineParts, SimulatedCall } from "./engine.ts";
import { nextAdmission } from "./engine.ts";

export interface ChunkedEngineSettings {
  /** Tokens per step, decode and prefill together. */
  readonly stepTokens: number;
  readonly largestBatch: number;
  /** Part of the shorter of prefill and decode that hides behind the longer, 0 to 1. */
  readonly overlap: number;
}

/** The prefix cache beside the running calls, in the same memory. */
export interface EngineCache {
  /** Tokens of the prefixes that running calls read. */
  pinnedTokens(): number;
  shrinkTo(roomTokens: number): void;
}

const BLOCK_TOKENS = 16;
/** Part of the cache that admission leaves free, so that running answers can grow. */
const WATERMARK = 0.01;

interface RunningCall {
  readonly call: SimulatedCall;
  /** Tokens still to be computed before the next answer token. */
  prefillLeft: number;
  written: number;
  /** Part of `prefillLeft` that the current step computes. */
  chunk: number;
  /** Tokens that it shares with the prefix cache and does not hold itself. */
  readonly sharedTokens: number;
}

export class ChunkedEngine implements Engine {
  actionEndsAtUs = Infinity;
  /** Calls that were thrown out because the cache ran full. */
  preemptions = 0;
  readonly #parts: EngineParts;
  readonly #settings: ChunkedEngineSettings;
  readonly #cache: EngineCache;
  #running: RunningCall[] = [];
  /** Answer tokens of preempted calls, to be computed again with the prompt. */
  readonly #writtenBefore = new Map<SimulatedCall, number>();

  constructor(parts: EngineParts, settings: ChunkedEngineSettings, cache: EngineCache) {
    this.#parts = parts;
    this.#settings = settings;
    this.#cache = cache;
  }

  enqueue(call: SimulatedCall, nowUs: number): void {
    this.#parts.queue.push(call);
    if (this.actionEndsAtUs === Infinity) this.#start(nowUs);
  }

  advance(nowUs: number): readonly SimulatedCall[] {
    const ended: SimulatedCall[] = [];
    for (const entry of this.#running) {
      if (entry.prefillLeft > 0) {
        entry.prefillLeft -= entry.chunk;
        if (entry.prefillLeft === 0) this.#endPrefill(entry);
      } else {
        entry.written += 1;
      }
      if (isFinished(entry)) ended.push(entry.call);
    }
    if (ended.length > 0) this.#running = this.#running.filter((entry) => !isFinished(entry));
    for (const call of ended) this.#parts.reached(call, "ended");
    this.#start(nowUs);
    return ended;
  }

  lose(): readonly SimulatedCall[] {
    const waiting = [...this.#parts.queue];
    for (const call of waiting) this.#parts.queue.remove(call);
    const held = [...this.#running.map(({ call }) => call), ...waiting];
    this.#running = [];
    this.#writtenBefore.clear();
    this.actionEndsAtUs = Infinity;
    return held;
  }

  #start(nowUs: number): void {
    this.#preemptOverflow();
    this.#admit(nowUs);
    this.#cache.shrinkTo(this.#parts.card.kvTokens - this.#kvInUse());
    if (this.#running.length === 0) {
      this.actionEndsAtUs = Infinity;
      return;
    }
    this.actionEndsAtUs = nowUs + this.#planStep();
  }

  #admit(nowUs: number): void {
    while (this.#running.length < this.#settings.largestBatch) {
      const next = nextAdmission(this.#parts, nowUs, (call) => this.#fits(call));
      if (next === undefined) return;
      this.#parts.queue.admit(next);
      const written = this.#writtenBefore.get(next) ?? 0;
      this.#writtenBefore.delete(next);
      const sharedTokens = this.#parts.startPrefill(next);
      const prefillLeft = Math.max(next.inputTokens + written - sharedTokens, 1);
      this.#running.push({ call: next, prefillLeft, written, chunk: 0, sharedTokens });
    }
  }

  #endPrefill(entry: RunningCall): void {
    entry.written += 1;
    this.#parts.reached(entry.call, "prefilled");
  }

  #fits(call: SimulatedCall): boolean {
    if (this.#running.length === 0) return true;
    const needed = blocks(call.inputTokens + (this.#writtenBefore.get(call) ?? 0) + 1);
    const reserve = WATERMARK * this.#parts.card.kvTokens;
    return this.#kvInUse() + needed + reserve <= this.#roomTokens();
  }

  /** Distributes the step over decode tokens and prompts; returns its time. */
  #planStep(): number {
    let budget = this.#settings.stepTokens;
    let decoding = 0;
    for (const entry of this.#running) if (entry.prefillLeft === 0) decoding += 1;
    budget = Math.max(budget - decoding, 1);
    let prefillTokens = 0;
    for (const entry of this.#running) {
      entry.chunk = Math.min(entry.prefillLeft, budget - prefillTokens);
      prefillTokens += entry.chunk;
    }
    const { profile } = this.#parts.card;
    const prefillUs = (1e6 * prefillTokens) / profile.prefillTokensPerS;
    const decodeUs = decoding === 0 ? 0 : decodeStepUs(profile, decoding);
    const hidden = this.#settings.overlap * Math.min(prefillUs, decodeUs);
    return Math.max(roundHalfUp(prefillUs + decodeUs - hidden), 1);
  }

  #preemptOverflow(): void {
    while (this.#running.length > 1 && this.#kvInUse() > this.#roomTokens()) {
      const youngest = this.#running.pop();
      if (youngest === undefined) return;
      this.preemptions += 1;
      this.#writtenBefore.set(youngest.call, youngest.written);
      this.#parts.queue.push(youngest.call);
    }
  }

  #roomTokens(): number {
    return this.#parts.card.kvTokens - this.#cache.pinnedTokens();
  }

  #kvInUse(): number {
    let tokens = 0;
    for (const { call, written, sharedTokens } of this.#running) {
      tokens += blocks(call.inputTokens - sharedTokens + written + 1);
    }
    return tokens;
  }
}

function blocks(tokens: number): number {
  return Math.ceil(tokens / BLOCK_TOKENS) * BLOCK_TOKENS;
}

function isFinished(entry: RunningCall): boolean {
  return entry.prefillLeft === 0 && entry.written >= Math.max(entry.call.outputTokens, 1);
}
