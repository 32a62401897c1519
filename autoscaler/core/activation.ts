/**
 * A start under way holds itself up: it is not given up before a pod was ready once or the
 * progress deadline has passed, so no idle timer runs while the thing it times has not begun.
 */
import type { Activation } from "./scaler-state.ts";

export interface ActivationInputs {
  readonly nowMs: number;
  readonly before: Activation | null;
  readonly readyPods: number;
  readonly livePods: number;
  readonly currentReplicas: number;
  readonly initialised: boolean;
  /** Pods that the load asks for. */
  readonly demand: number;
  readonly progressDeadlineMs: number;
}

export function nextActivation(inputs: ActivationInputs): Activation | null {
  if (inputs.readyPods > 0) return null;
  const pending = inputs.currentReplicas > 0 || inputs.livePods > 0;
  if (!pending && inputs.initialised) return null;
  const { before, nowMs } = inputs;
  // New demand after a start that took too long is a new start.
  if (before === null || (before.exceeded && inputs.demand > 0)) {
    return { sinceMs: nowMs, exceeded: false };
  }
  const exceeded = before.exceeded || nowMs - before.sinceMs >= inputs.progressDeadlineMs;
  return { sinceMs: before.sinceMs, exceeded };
}
