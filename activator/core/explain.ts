/** What a refused caller is told beyond the reason word: the line of text and when to come back. */
import type { ActivationFailure } from "../../common/contracts/routing.ts";
import type { WireReasonName } from "../../common/contracts/wire-reasons.ts";

export interface RefusalFacts {
  readonly reason: WireReasonName;
  readonly failure: ActivationFailure | null;
  /** What a first pod waits for, in words; empty when unknown. */
  readonly waitingFor: string;
}

const WHERE_TO_LOOK =
  "see the log and the readiness probe of its pods, or raise pilotlight.dev/activation-timeout";

/** Empty: the usual line of the reason. */
export function refusalMessage(facts: RefusalFacts): string {
  if (facts.reason !== "activation_failed" && facts.reason !== "activation_timeout") return "";
  const start =
    facts.reason === "activation_failed"
      ? "no pod of this revision can start"
      : "no pod became ready in time";
  const cause = facts.failure === null ? facts.waitingFor : failureText(facts.failure);
  const told = cause === "" ? start : `${start}: ${cause}`;
  return facts.reason === "activation_failed" ? told : `${told}; ${WHERE_TO_LOOK}`;
}

function failureText(failure: ActivationFailure): string {
  return failure.message === "" ? failure.reason : `${failure.reason}: ${failure.message}`;
}

export interface RetryHint {
  /** A hint by the store, 0 when it gave none. */
  readonly askedMs: number;
  readonly cold: boolean;
  readonly startTimeMs: number;
  readonly medianWaitMs: number;
}

/** Whole seconds, at least 1: the median wait, or the median start while no pod is ready. */
export function retryAfterS(hint: RetryHint): number {
  const usualMs = hint.cold ? hint.startTimeMs : hint.medianWaitMs;
  return Math.max(1, Math.ceil((hint.askedMs > 0 ? hint.askedMs : usualMs) / 1000));
}
