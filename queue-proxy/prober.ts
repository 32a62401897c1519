/**
 * When to probe: hard while the container starts, at the probe's own period afterwards, hard again
 * when the container is gone. One try at a time.
 */
import type { Clock } from "../common/clock.ts";
import type { ProbePlan } from "./core/probe-spec.ts";
import type { Readiness } from "./core/readiness.ts";
import type { TryResult } from "./probe.ts";

/** Between two tries while the container answers but is not ready. */
const STARTING_MS = 50;
/** While nobody listens: a refused loopback connect costs some 0.1 ms of CPU. */
const REFUSED_MS = 10;
/** After this long without a listener the start is a slow one and 50 ms loses nothing. */
const EAGER_MS = 5_000;

export interface ProberParts {
  readonly plan: ProbePlan;
  readonly readiness: Readiness;
  readonly clock: Clock;
  readonly tryOnce: () => Promise<TryResult>;
  /** Requests run in the container, so a slow probe says nothing. */
  readonly isBusy: () => boolean;
  /** After each try. */
  readonly onTried: (result: TryResult) => void;
}

export class Prober {
  readonly #parts: ProberParts;
  #timer: NodeJS.Timeout | undefined;
  #isTrying = false;
  #isStopped = false;
  /** Start of the current hunt for a first success; undefined while the probe passes. */
  #huntSinceAt: number | undefined;

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#huntSinceAt = this.#parts.clock.now();
    void this.#try();
  }

  /** The container was seen to be gone: look for it as at a start. */
  hunt(): void {
    this.#huntSinceAt = this.#parts.clock.now();
    clearTimeout(this.#timer);
    void this.#try();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #try(): Promise<void> {
    if (this.#isTrying || this.#isStopped) return;
    this.#isTrying = true;
    const { readiness, tryOnce, isBusy, onTried } = this.#parts;
    const result = await tryOnce();
    this.#isTrying = false;
    if (this.#isStopped) return;
    const isExcused = result.kind === "timeout" && isBusy();
    readiness.onProbe(isExcused ? "busy" : outcomeOf(result), result.reason);
    if (readiness.passing) this.#huntSinceAt = undefined;
    else if (result.kind === "refused") this.#huntSinceAt ??= this.#parts.clock.now();
    onTried(result);
    this.#timer = setTimeout(() => void this.#try(), this.#pauseMs(result));
  }

  #pauseMs(result: TryResult): number {
    if (this.#huntSinceAt === undefined) return this.#parts.plan.periodMs;
    const isEager = this.#parts.clock.now() - this.#huntSinceAt < EAGER_MS;
    return result.kind === "refused" && isEager ? REFUSED_MS : STARTING_MS;
  }
}

function outcomeOf(result: TryResult): "passed" | "failed" | "refused" {
  if (result.kind === "passed") return "passed";
  return result.kind === "refused" ? "refused" : "failed";
}
