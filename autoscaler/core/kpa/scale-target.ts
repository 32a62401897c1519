/**
 * What stock does with a desired count: bounds, initial scale, and the machine that leads to zero.
 * Pure; the caller carries out patch, probes and re-queue.
 */
import { clampPods } from "../bounds.ts";

const INITIALISATION_GRACE_S = 30;
const PROXY_RECHECK_S = 3;

export interface ScaleTargetInputs {
  /** -1 while nothing is known. */
  readonly desired: number;
  readonly currentReplicas: number;
  readonly reachable: boolean;
  readonly initialised: boolean;
  readonly minScale: number;
  readonly maxScale: number;
  readonly initialScale: number;
  readonly active: { readonly status: "True" | "False" | "Unknown"; readonly seconds: number };
  /** How long traffic has been proxied; 0 while it is not. */
  readonly proxiedSeconds: number;
  readonly proxyMode: boolean;
  readonly alwaysProxied: boolean;
  readonly activatorAnswers: boolean;
  readonly enableScaleToZero: boolean;
  readonly stableWindowSeconds: number;
  readonly progressDeadlineSeconds: number;
  readonly graceSeconds: number;
  readonly retentionSeconds: number;
}

export interface ScaleTargetAction {
  /** Reported as desired scale; -1 unknown. */
  readonly want: number;
  /** `null`: leave the scale alone. */
  readonly patchReplicas: number | null;
  readonly requeueAfterSeconds: number | null;
  readonly probed: boolean;
  readonly probeLater: boolean;
}

export function scaleTarget(inputs: ScaleTargetInputs): ScaleTargetAction {
  if (inputs.desired < 0 && inputs.active.status !== "Unknown") return wait(inputs.desired);
  const desired = clampPods(inputs.desired, { min: lowerBound(inputs), max: inputs.maxScale });
  return desired === 0 ? towardsZero(inputs) : patch(inputs, desired);
}

function lowerBound(inputs: ScaleTargetInputs): number {
  if (!inputs.reachable) return 0;
  const holdsInitial = !inputs.initialised && inputs.initialScale > 1;
  return holdsInitial ? Math.max(inputs.minScale, inputs.initialScale) : inputs.minScale;
}

function towardsZero(inputs: ScaleTargetInputs): ScaleTargetAction {
  if (!inputs.enableScaleToZero) return patch(inputs, 1);
  switch (inputs.active.status) {
    case "Unknown": {
      const limit = inputs.progressDeadlineSeconds + INITIALISATION_GRACE_S;
      return inputs.active.seconds > limit ? patch(inputs, 0) : wait(-1, limit);
    }
    case "True":
      return fromActive(inputs);
    case "False":
      return fromInactive(inputs);
  }
}

function fromActive(inputs: ScaleTargetInputs): ScaleTargetAction {
  const remaining = inputs.stableWindowSeconds - inputs.active.seconds;
  if (remaining <= 0) return wait(0, inputs.proxyMode ? PROXY_RECHECK_S : null);
  return { ...patch(inputs, 1), requeueAfterSeconds: remaining };
}

function fromInactive(inputs: ScaleTargetInputs): ScaleTargetAction {
  const probed = !inputs.alwaysProxied;
  if (probed && !inputs.activatorAnswers) return { ...wait(0), probed, probeLater: true };
  const retention = inputs.reachable ? inputs.retentionSeconds : 0;
  const { seconds } = inputs.active;
  if (seconds >= Math.max(inputs.graceSeconds, retention)) return { ...patch(inputs, 0), probed };
  if (seconds < retention) return { ...wait(0, retention - seconds), probed };
  if (inputs.proxiedSeconds >= inputs.graceSeconds) return { ...patch(inputs, 0), probed };
  return { ...wait(0, inputs.graceSeconds - inputs.proxiedSeconds), probed };
}

function wait(want: number, requeueAfterSeconds: number | null = null): ScaleTargetAction {
  return { want, patchReplicas: null, requeueAfterSeconds, probed: false, probeLater: false };
}

function patch(inputs: ScaleTargetInputs, replicas: number): ScaleTargetAction {
  return {
    ...wait(replicas),
    patchReplicas: replicas === inputs.currentReplicas ? null : replicas,
  };
}
