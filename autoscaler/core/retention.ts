/** The last pod may be kept for a while after nobody wants it (`scale-to-zero-pod-retention-period`). */

export interface RetentionInputs {
  readonly nowMs: number;
  readonly desired: number;
  readonly currentReplicas: number;
  readonly retentionMs: number;
  /** Since when zero pods are desired without a break, `null` before. */
  readonly zeroSinceMs: number | null;
}

export interface Retained {
  readonly desired: number;
  readonly zeroSinceMs: number | null;
  readonly retained: boolean;
}

export function retainLastPod(inputs: RetentionInputs): Retained {
  if (inputs.desired > 0) return { desired: inputs.desired, zeroSinceMs: null, retained: false };
  const zeroSinceMs = inputs.zeroSinceMs ?? inputs.nowMs;
  const over = inputs.nowMs - zeroSinceMs >= inputs.retentionMs;
  // A pod that is gone already is not brought back only to be kept.
  if (over || inputs.currentReplicas === 0) return { desired: 0, zeroSinceMs, retained: false };
  return { desired: 1, zeroSinceMs, retained: true };
}
