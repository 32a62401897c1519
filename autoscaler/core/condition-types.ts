/** Shape of a condition in a status; the rules are in conditions.ts. */

export type ConditionStatus = "True" | "False" | "Unknown";

export interface Condition {
  readonly type: "Active" | "Ready" | "ScaleTargetInitialized" | "SKSReady";
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly changedAt: number;
}
