/**
 * The engine of the golden runs: prefill alone and first, one admission per action, decode steps
 * for the whole batch, key-value cache charged by prompt only. A run of equal decode steps is one
 * action; a call that arrives in it is seen at the first step boundary after its arrival.
 */
import { decodeStepUs, roundHalfUp } from "../../../common/hexgen/cost.ts";
import type { Engine, EngineParts, SimulatedCall } from "./engine.ts";
import { nextAdmission } from "./engine.ts";

/** Share of the key-value cache that admissions may fill. */
const KV_SHARE = 0.95;

interface BatchedCall {
  readonly call: SimulatedCall;
  /** Decode step of the engine, counted from its start, with which the call ends. */
  readonly lastStep: number;
}

export class ReferenceEngine implements Engine {
  actionEndsAtUs = Infinity;
  readonly #parts: EngineParts;
  readonly #kvLimit: number;
  #batch: BatchedCall[] = [];
  #kvInUse = 0;
  /** Decode steps since the start. */
  #steps = 0;
  /** Start and step time of the current decode run; step time 0 outside of one. */
  #runStartedAtUs = 0;
  #stepUs = 0;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#kvLimit = Math.floor(KV_SHARE * parts.card.kvTokens);
  }

  enqueue(call: SimulatedCall, nowUs: number): void {
    this.#parts.queue.push(call);
    if (this.actionEndsAtUs === Infinity) this.#start(nowUs);
    else if (this.#stepUs > 0) this.#endRunAfter(nowUs);
  }

  advance(nowUs: number): readonly SimulatedCall[] {
    const ended = this.#stepUs > 0 ? this.#finishRun(nowUs) : [];
    this.#start(nowUs);
    return ended;
  }

  lose(): readonly SimulatedCall[] {
    const waiting = [...this.#parts.queue];
    for (const call of waiting) this.#parts.queue.remove(call);
    const held = [...this.#batch.map(({ call }) => call), ...waiting];
    this.#batch = [];
    this.#kvInUse = 0;
    this.#stepUs = 0;
    this.actionEndsAtUs = Infinity;
    return held;
  }

  #start(nowUs: number): void {
    const next = nextAdmission(this.#parts, nowUs, (call) => this.#fits(call));
    this.#stepUs = 0;
    if (next !== undefined) this.#startPrefill(next, nowUs);
    else if (this.#batch.length > 0) this.#startRun(nowUs);
    else this.actionEndsAtUs = Infinity;
  }

  #fits(call: SimulatedCall): boolean {
    return this.#batch.length === 0 || this.#kvInUse + call.inputTokens <= this.#kvLimit;
  }

  #startPrefill(call: SimulatedCall, nowUs: number): void {
    this.#parts.queue.admit(call);
    const uncached = call.inputTokens - this.#parts.startPrefill(call);
    this.#batch.push({ call, lastStep: this.#steps + Math.max(call.outputTokens, 1) });
    this.#kvInUse += call.inputTokens;
    const { prefillTokensPerS } = this.#parts.card.profile;
    this.actionEndsAtUs = nowUs + roundHalfUp((1e6 * uncached) / prefillTokensPerS);
  }

  #startRun(nowUs: number): void {
    let steps = Infinity;
    for (const { lastStep } of this.#batch) steps = Math.min(steps, lastStep - this.#steps);
    this.#runStartedAtUs = nowUs;
    this.#stepUs = decodeStepUs(this.#parts.card.profile, this.#batch.length);
    this.actionEndsAtUs = nowUs + steps * this.#stepUs;
    const crossingAtUs = this.#parts.queue.nextCrossingAt();
    if (crossingAtUs < this.actionEndsAtUs) this.#endRunAfter(Math.max(crossingAtUs, nowUs));
  }

  /** Cuts the run to the first step boundary after an instant inside it. */
  #endRunAfter(instantUs: number): void {
    const steps = Math.floor((instantUs - this.#runStartedAtUs) / this.#stepUs) + 1;
    const boundaryUs = this.#runStartedAtUs + steps * this.#stepUs;
    if (boundaryUs < this.actionEndsAtUs) this.actionEndsAtUs = boundaryUs;
  }

  #finishRun(nowUs: number): SimulatedCall[] {
    this.#steps += Math.round((nowUs - this.#runStartedAtUs) / this.#stepUs);
    const ended: SimulatedCall[] = [];
    const running: BatchedCall[] = [];
    for (const entry of this.#batch) {
      if (entry.lastStep > this.#steps) running.push(entry);
      else ended.push(entry.call);
    }
    for (const call of ended) this.#kvInUse -= call.inputTokens;
    if (ended.length > 0) this.#batch = running;
    return ended;
  }
}
