/**
 * The simulated engine: real waiting in place of real computing. As an engine that batches does, it
 * reads one prompt at a time, before anything else, and then writes the answers of all together,
 * one token each per step, as long as their prompts fit into its cache.
 *
 *   waiting ──prompt fits──► reading ──► batch: one token each per step ──► done
 */
import type { CardSpeed } from "./cards.ts";
import { PromptCache } from "./prompt-cache.ts";

/** Part of the cache that admissions fill. */
const USABLE = 0.95;

export interface Generation {
  readonly prompt: string;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly signal: AbortSignal;
  /** Called as tokens are due; absent: the answer is wanted as a whole. */
  readonly onTokens?: (count: number) => void;
}

export interface EngineState {
  /** Accepted and not ended. */
  readonly running: number;
  /** Of these, not begun. */
  readonly waiting: number;
  readonly kvFreeTokens: number;
}

interface Call {
  readonly generation: Generation;
  readonly finish: (ended: Ended) => void;
  cachedTokens: number;
  written: number;
}

export type Ended =
  | { readonly kind: "done"; readonly cachedTokens: number }
  | { readonly kind: "left" };

/** Times are ms of the card's clock, which runs faster than ours by the time scale. */
type Action =
  | { readonly kind: "read"; readonly call: Call; readonly endsAt: number }
  | { readonly kind: "write"; readonly startedAt: number; readonly stepMs: number; endsAt: number };

export class Engine {
  readonly #card: CardSpeed;
  readonly #onState: (state: EngineState) => void;
  readonly #cache: PromptCache;
  #waiting: Call[] = [];
  #batch: Call[] = [];
  #action: Action | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(card: CardSpeed, onState: (state: EngineState) => void) {
    this.#card = card;
    this.#onState = onState;
    this.#cache = new PromptCache(card.prefixCacheTokens);
  }

  get state(): EngineState {
    const reading = this.#action?.kind === "read" ? 1 : 0;
    const begun = this.#batch.length + reading;
    const kvFreeTokens = Math.max(0, Math.floor(this.#room() - this.#kvInUse()));
    const waiting = this.#waiting.length;
    return { running: begun + waiting, waiting, kvFreeTokens };
  }

  /** Resolves when the last token is written, or the caller has left. */
  generate(generation: Generation): Promise<Ended> {
    return new Promise((resolve) => {
      const call: Call = { generation, finish: resolve, cachedTokens: 0, written: 0 };
      generation.signal.addEventListener("abort", () => this.#leave(call), { once: true });
      this.#waiting.push(call);
      if (this.#action === undefined) this.#begin(this.#now());
      else if (this.#action.kind === "write") this.#endAfterStep(this.#action);
      this.#onState(this.state);
    });
  }

  #now(): number {
    return performance.now() * this.#card.timeScale;
  }

  #room(): number {
    return USABLE * this.#card.kvTokens;
  }

  #kvInUse(): number {
    const reading = this.#action?.kind === "read" ? [this.#action.call] : [];
    let tokens = 0;
    for (const call of [...this.#batch, ...reading]) tokens += call.generation.promptTokens;
    return tokens;
  }

  #begin(at: number): void {
    const next = this.#waiting[0];
    if (next !== undefined && this.#fits(next)) {
      this.#waiting.shift();
      this.#action = { kind: "read", call: next, endsAt: at + this.#readMs(next) };
    } else if (this.#batch.length > 0) {
      this.#action = this.#writeRun(at);
    } else {
      this.#action = undefined;
      return;
    }
    const delayMs = (this.#action.endsAt - this.#now()) / this.#card.timeScale;
    this.#timer = setTimeout(() => this.#due(), Math.max(0, delayMs));
  }

  /** What is due by now, one action after the other: each begins when the one before it ended. */
  #due(): void {
    while (this.#action !== undefined && this.#action.endsAt <= this.#now()) {
      clearTimeout(this.#timer);
      this.#end(this.#action);
    }
    if (this.#action !== undefined) this.#rearm(this.#action);
    this.#onState(this.state);
  }

  #rearm({ endsAt }: Action): void {
    clearTimeout(this.#timer);
    const delayMs = (endsAt - this.#now()) / this.#card.timeScale;
    this.#timer = setTimeout(() => this.#due(), Math.max(0, delayMs));
  }

  #end(action: Action): void {
    if (action.kind === "read") {
      if (!action.call.generation.signal.aborted) this.#batch.push(action.call);
    } else {
      this.#write(Math.round((action.endsAt - action.startedAt) / action.stepMs));
    }
    this.#action = undefined;
    this.#begin(action.endsAt);
  }

  #write(steps: number): void {
    for (const call of this.#batch) {
      call.written += steps;
      call.generation.onTokens?.(steps);
    }
    const done = this.#batch.filter(
      ({ written, generation }) => written >= generation.outputTokens,
    );
    this.#batch = this.#batch.filter((call) => !done.includes(call));
    for (const { finish, cachedTokens } of done) finish({ kind: "done", cachedTokens });
  }

  #fits(call: Call): boolean {
    if (this.#batch.length === 0) return true;
    return this.#kvInUse() + call.generation.promptTokens <= this.#room();
  }

  #readMs(call: Call): number {
    const { prompt, promptTokens } = call.generation;
    call.cachedTokens = Math.min(this.#cache.take(prompt), promptTokens - 1);
    const uncached = promptTokens - call.cachedTokens;
    return (uncached / this.#card.prefillTokensPerSecond) * 1_000;
  }

  /** All equal steps up to the next end at once; one step where somebody reads along. */
  #writeRun(at: number): Action {
    const stepMs = this.#card.decodeMsPerToken;
    let steps = Infinity;
    for (const { generation, written } of this.#batch) {
      const left = Math.max(1, generation.outputTokens - written);
      steps = Math.min(steps, generation.onTokens === undefined ? left : 1);
    }
    return { kind: "write", startedAt: at, stepMs, endsAt: at + steps * stepMs };
  }

  /** A new call is looked at when the step in which it came is over. */
  #endAfterStep(action: Extract<Action, { kind: "write" }>): void {
    const passed = Math.max(0, this.#now() - action.startedAt);
    const steps = Math.floor(passed / action.stepMs) + 1;
    const boundary = action.startedAt + steps * action.stepMs;
    if (!(boundary < action.endsAt)) return;
    action.endsAt = boundary;
    this.#rearm(action);
  }

  #leave(call: Call): void {
    this.#waiting = this.#waiting.filter((other) => other !== call);
    this.#batch = this.#batch.filter((other) => other !== call);
    call.finish({ kind: "left" });
    this.#onState(this.state);
  }
}
