/**
 * A half-empty window reads as low load: after a restart, a change of leader, an emptied store or
 * a silence, nobody is sent away before a whole window was seen. More pods are allowed at once.
 */

export interface RashInputs {
  readonly desired: number;
  readonly currentReplicas: number;
  readonly windowSeen: boolean;
  /** 0 means no limit. */
  readonly max: number;
}

export function withholdScaleDown(inputs: RashInputs): number {
  if (inputs.windowSeen || inputs.desired >= inputs.currentReplicas) return inputs.desired;
  const floor =
    inputs.max > 0 ? Math.min(inputs.currentReplicas, inputs.max) : inputs.currentReplicas;
  return Math.max(inputs.desired, floor);
}
