/**
 * Carries the drain out: keeps the facts that the pure decision asks for, the clock that repeats
 * the question, and the callers that wait at `/wait-for-drain`.
 */
import type { Clock } from "../common/clock.ts";
import type { DrainDecision } from "./core/drain.ts";
import { decideDrain } from "./core/drain.ts";

export interface DrainerParts {
  readonly clock: Clock;
  readonly graceMs: number;
  /** Requests that run or wait here. */
  readonly open: () => number;
  readonly unreachableSinceAt: () => number | undefined;
  readonly onPhase: (phase: DrainDecision["phase"]) => void;
  /** Idle, and the store has not confirmed yet: ask it again. */
  readonly onUnconfirmed: () => void;
  readonly onTerminate: () => void;
  readonly onLeave: () => void;
}

/** While draining the facts change without an event of ours (activators lost). */
const LOOK_EVERY_MS = 200;

export class Drainer {
  readonly #parts: DrainerParts;
  #hooks: (() => void)[] = [];
  #hookAt: number | undefined;
  #signalAt: number | undefined;
  #foreignAt: number | undefined;
  #acknowledgedAt: number | undefined;
  #idleSinceAt = 0;
  #phase: DrainDecision["phase"] = "serving";
  #hasTerminated = false;
  #hasLeft = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: DrainerParts) {
    this.#parts = parts;
  }

  get phase(): DrainDecision["phase"] {
    return this.#phase;
  }

  signal(): void {
    this.#signalAt ??= this.#parts.clock.now();
    this.look();
  }

  /** Resolves when the container may be stopped. */
  waitForDrain(): Promise<void> {
    return new Promise((resolve) => {
      this.#hookAt ??= this.#parts.clock.now();
      this.#hooks.push(resolve);
      this.look();
    });
  }

  noteForeign(): void {
    this.#foreignAt = this.#parts.clock.now();
  }

  /** What the last push reply said; a lease opened since takes an acknowledgement back. */
  noteAcknowledged(isAcknowledged: boolean): void {
    if (!isAcknowledged) this.#acknowledgedAt = undefined;
    else this.#acknowledgedAt ??= this.#parts.clock.now();
    if (this.#phase !== "serving") this.look();
  }

  /** The last request ended. */
  noteIdle(): void {
    this.#idleSinceAt = this.#parts.clock.now();
    if (this.#phase !== "serving") this.look();
  }

  /** Asks what to do now, and does it. */
  look(): void {
    if (this.#hasLeft) return;
    const { clock, graceMs, open, unreachableSinceAt } = this.#parts;
    const decision = decideDrain({
      now: clock.now(),
      graceMs,
      hookAt: this.#hookAt,
      signalAt: this.#signalAt,
      open: open(),
      idleSinceAt: this.#idleSinceAt,
      foreignAt: this.#foreignAt,
      acknowledgedAt: this.#acknowledgedAt,
      unreachableSinceAt: unreachableSinceAt(),
    });
    this.#enter(decision.phase);
    if (decision.releaseHook) this.#releaseHooks();
    if (decision.terminate && !this.#hasTerminated) {
      this.#hasTerminated = true;
      this.#parts.onTerminate();
    }
    if (decision.leave) return this.#leave();
    this.#lookAgain(decision);
  }

  #enter(phase: DrainDecision["phase"]): void {
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#parts.onPhase(phase);
  }

  #releaseHooks(): void {
    this.#hookAt = undefined;
    for (const resolve of this.#hooks.splice(0)) resolve();
  }

  #leave(): void {
    this.#hasLeft = true;
    clearTimeout(this.#timer);
    this.#releaseHooks();
    this.#parts.onLeave();
  }

  #lookAgain(decision: DrainDecision): void {
    clearTimeout(this.#timer);
    if (decision.phase === "serving") return;
    const now = this.#parts.clock.now();
    const untilNextMs = (decision.nextAt ?? Infinity) - now;
    const isUnconfirmed =
      this.#signalAt !== undefined &&
      this.#acknowledgedAt === undefined &&
      this.#parts.open() === 0;
    this.#timer = setTimeout(
      () => {
        if (isUnconfirmed) this.#parts.onUnconfirmed();
        this.look();
      },
      Math.max(1, Math.min(LOOK_EVERY_MS, Math.ceil(untilNextMs))),
    );
  }
}
