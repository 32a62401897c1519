/**
 * The engine of the golden runs: prefill alone and first, one admission per action, decode steps
 * for the whole batch, key-value cache charged by prompt only. A run of equal decode steps is one
 * action; a call that arrives in it is seen at the first step boundary after its arrival.
 */
import type { CardProfile } from "../../../common/hexgen/cost.ts";
import { decodeStepUs, roundHalfUp } from "../../../common/hexgen/cost.ts";
import type { WaitingQueue } from "../../../common/hexgen/waiting-queue.ts";
import type { Engine, SimulatedCall } from "./engine.ts";

/** Share of the key-value cache that admissions may fill. */
const KV_SHARE = 0.95;

export interface ReferenceEngineOptions {
  readonly profile: CardProfile;
  readonly kvTokens: number;
  readonly queue: WaitingQueue<SimulatedCall>;
  /** Cached tokens of a prompt whose prefill starts now; also told to remember it. */
  readonly startPrefill: (call: SimulatedCall) => number;
}

interface BatchedCall {
  readonly call: SimulatedCall;
  /** Decode step of the engine, counted from its start, with which the call ends. */
  readonly lastStep: number;
}

export class ReferenceEngine implements Engine {
  actionEndsAtUs = Infinity;
  readonly #options: ReferenceEngineOptions;
  readonly #kvLimit: number;
  #batch: BatchedCall[] = [];
  #kvInUse = 0;
  /** Decode steps since the start. */
  #steps = 0;
  /** Start and step time of the current decode run; step time 0 outside of one. */
  #runStartedAtUs = 0;
  #stepUs = 0;

  constructor(options: ReferenceEngineOptions) {
    this.#options = options;
    this.#kvLimit = Math.floor(KV_SHARE * options.kvTokens);
  }

  enqueue(call: SimulatedCall, nowUs: number): void {
    this.#options.queue.push(call);
    if (this.actionEndsAtUs === Infinity) this.#start(nowUs);
    else if (this.#stepUs > 0) this.#endRunAfter(nowUs);
  }

  advance(nowUs: number): readonly SimulatedCall[] {
    const ended = this.#stepUs > 0 ? this.#finishRun(nowUs) : [];
    this.#start(nowUs);
    return ended;
  }

  #start(nowUs: number): void {
    const head = this.#options.queue.head(nowUs);
    this.#stepUs = 0;
    if (head !== undefined && this.#fits(head)) this.#startPrefill(head, nowUs);
    else if (this.#batch.length > 0) this.#startRun(nowUs);
    else this.actionEndsAtUs = Infinity;
  }

  #fits(call: SimulatedCall): boolean {
    return this.#batch.length === 0 || this.#kvInUse + call.inputTokens <= this.#kvLimit;
  }

  #startPrefill(call: SimulatedCall, nowUs: number): void {
    this.#options.queue.admit(call);
    const uncached = call.inputTokens - this.#options.startPrefill(call);
    this.#batch.push({ call, lastStep: this.#steps + Math.max(call.outputTokens, 1) });
    this.#kvInUse += call.inputTokens;
    this.actionEndsAtUs =
      nowUs + roundHalfUp((1e6 * uncached) / this.#options.profile.prefillTokensPerS);
  }

  #startRun(nowUs: number): void {
    let steps = Infinity;
    for (const { lastStep } of this.#batch) steps = Math.min(steps, lastStep - this.#steps);
    this.#runStartedAtUs = nowUs;
    this.#stepUs = decodeStepUs(this.#options.profile, this.#batch.length);
    this.actionEndsAtUs = nowUs + steps * this.#stepUs;
    const crossingAtUs = this.#options.queue.nextCrossingAt();
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
    if (ended.length === 0) return ended;
    for (const call of ended) this.#kvInUse -= call.inputTokens;
    this.#batch = running;
    return ended;
  }
}
