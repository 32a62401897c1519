/**
 * Starts that can never succeed: given up after the third failure of the same kind of one pod, with
 * a reason that waiting callers and the status both show, instead of at the time limit.
 */
import type { ActivationFailure } from "../../common/contracts/routing.ts";

export const FAILURES_TO_GIVE_UP = 3;

export interface StartingPod {
  readonly uid: string;
  readonly failure: (ActivationFailure & { readonly count: number }) | null;
}

export interface FailureInputs {
  readonly pods: readonly StartingPod[];
  readonly readyPods: number;
  readonly currentReplicas: number;
  /** What was given up before and has not been cleared. */
  readonly before: ActivationFailure | null;
}

/**
 * `null` while a pod may come up. A failure lasts until a pod is ready or all pods are gone: the
 * next request may then try again.
 */
export function startFailure(inputs: FailureInputs): ActivationFailure | null {
  if (inputs.readyPods > 0) return null;
  const worst = inputs.pods
    .map((pod) => pod.failure)
    .filter((failure) => failure !== null)
    .filter((failure) => failure.count >= FAILURES_TO_GIVE_UP)
    .toSorted((left, right) => right.count - left.count)[0];
  if (worst !== undefined) return { reason: worst.reason, message: worst.message };
  return inputs.currentReplicas === 0 && inputs.pods.length === 0 ? null : inputs.before;
}
