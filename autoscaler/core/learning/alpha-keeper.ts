/**
 * Which alpha is in force for a revision, and when another is to be looked for: what started the last
 * run, what it promised, and whether the promise was kept. A change that made things worse is undone.
 */
import { INITIAL_ALPHA, tuningTrigger } from "../../../common/hexgen/alpha.ts";
import type { TuningTrigger } from "../../../common/hexgen/alpha.ts";
import type { AlphaChoice } from "../../../common/hexgen/knowledge.ts";

/** Workflows after a change before it is judged. */
const JUDGED_AFTER = 50;
/** Tail after a change over the tail before it beyond which it is undone. */
const WORSE = 1.2;
/** How long a value that was undone is not tried again on the same pool. */
const BARRED_MS = 3_600_000;

export interface PoolFacts {
  readonly now: number;
  /** `a100:2,a6000:1`: a change of it is a reason to tune. */
  readonly pool: string;
  /** Last failure of a target, ms; 0 for none. */
  readonly lastFailureAt: number;
  /** Tail of latency over objective in the window. */
  readonly observedTail: number;
  /** The same of the workflows that arrived since the last change, and their number. */
  readonly tailSinceChange: number;
  readonly workflowsSinceChange: number;
}

export class AlphaKeeper {
  #choice: AlphaChoice | null;
  #pool: string | undefined;
  #lastRunAt = 0;
  #tailBeforeChange = Number.NaN;
  #undone: { readonly alpha: number; readonly pool: string; readonly at: number } | null = null;

  constructor(choice: AlphaChoice | null) {
    this.#choice = choice;
  }

  get choice(): AlphaChoice | null {
    return this.#choice;
  }

  get alpha(): number {
    return this.#choice?.alpha ?? INITIAL_ALPHA;
  }

  /** Why the tuner should run now. */
  trigger(facts: PoolFacts): TuningTrigger | undefined {
    const { now, pool, lastFailureAt, observedTail } = facts;
    const poolChanged = this.#pool !== undefined && this.#pool !== pool;
    const found = tuningTrigger({
      now,
      lastRunAt: this.#lastRunAt,
      lastFailureAt,
      poolChanged,
      observedTail,
      predictedTail: Number.isNaN(observedTail) ? 0 : (this.#choice?.predictedTail ?? 0),
    });
    if (found !== undefined || this.#pool === undefined) this.#pool = pool;
    if (found !== undefined) this.#lastRunAt = now;
    return found;
  }

  /** A run ended; answers the choice when it changed. */
  tuned(
    result: { readonly alpha: number; readonly predictedTail: number },
    facts: { readonly now: number; readonly window: number; readonly observedTail: number },
    trigger: TuningTrigger,
  ): AlphaChoice | null {
    if (result.alpha === this.alpha && this.#choice !== null) {
      this.#choice = { ...this.#choice, predictedTail: result.predictedTail };
      return null;
    }
    if (this.#isBarred(result.alpha, facts.now)) return null;
    if (result.alpha !== this.alpha) this.#tailBeforeChange = facts.observedTail;
    return this.#change({
      alpha: result.alpha,
      predictedTail: result.predictedTail,
      window: facts.window,
      at: facts.now,
      reason: trigger,
    });
  }

  /** Undoes a change that made the tail worse; answers the choice when it did. */
  judge(facts: PoolFacts): AlphaChoice | null {
    const before = this.#tailBeforeChange;
    if (this.#choice === null || Number.isNaN(before)) return null;
    if (facts.workflowsSinceChange < JUDGED_AFTER) return null;
    this.#tailBeforeChange = Number.NaN;
    if (!(facts.tailSinceChange > WORSE * before)) return null;
    this.#undone = { alpha: this.alpha, pool: facts.pool, at: facts.now };
    return this.#change({
      alpha: this.#choice.previous,
      predictedTail: before,
      window: facts.workflowsSinceChange,
      at: facts.now,
      reason: "rolled-back",
    });
  }

  #isBarred(alpha: number, now: number): boolean {
    if (this.#undone === null || alpha !== this.#undone.alpha) return false;
    return this.#pool === this.#undone.pool && now - this.#undone.at < BARRED_MS;
  }

  #change(next: Omit<AlphaChoice, "version" | "previous">): AlphaChoice {
    const { alpha: previous } = this;
    this.#choice = { ...next, version: (this.#choice?.version ?? 0) + 1, previous };
    return this.#choice;
  }
}
