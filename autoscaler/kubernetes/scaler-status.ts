/** The controller's status in the form of a PodAutoscaler, and whether one says the same. Pure. */
import type { Condition, ScalerStatus } from "../ports.ts";
import { conditionOf } from "./objects.ts";
import type {
  KubeCondition,
  PodAutoscaler,
  PodAutoscalerStatus,
  ServerlessService,
} from "./objects.ts";

/**
 * Complete: a key that is left out would be emptied by the API server's defaults. An instant stays
 * as long as its condition says the same, also when the memory of its change was lost.
 */
export function podAutoscalerStatus(
  scaler: PodAutoscaler,
  network: ServerlessService | undefined,
  status: ScalerStatus,
): PodAutoscalerStatus {
  const { annotations, conditions: before } = scaler.status ?? {};
  const { serviceName = "", privateServiceName = "" } = network?.status ?? {};
  return {
    ...(annotations === undefined ? {} : { annotations }),
    ...(scaler.metadata.generation === undefined
      ? {}
      : { observedGeneration: scaler.metadata.generation }),
    conditions: status.conditions.map((condition) => kubeCondition(condition, before)),
    serviceName,
    metricsServiceName: privateServiceName,
    desiredScale: status.desiredScale,
    actualScale: status.actualScale,
  };
}

function kubeCondition(
  condition: Condition,
  before: readonly KubeCondition[] | undefined,
): KubeCondition {
  const { type, status, reason, message, changedAt } = condition;
  const next = {
    type,
    status,
    ...(reason === "" ? {} : { reason }),
    ...(message === "" ? {} : { message }),
  };
  const old = conditionOf(before, type);
  const kept = old !== undefined && saysTheSame(old, next) ? old.lastTransitionTime : undefined;
  return { ...next, lastTransitionTime: kept ?? instant(changedAt) };
}

function saysTheSame(left: KubeCondition, right: KubeCondition): boolean {
  return (
    left.status === right.status &&
    (left.reason ?? "") === (right.reason ?? "") &&
    (left.message ?? "") === (right.message ?? "")
  );
}

/** Whole seconds, as Kubernetes writes its instants. */
function instant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

export function isSameStatus(
  left: PodAutoscalerStatus | undefined,
  right: PodAutoscalerStatus,
): boolean {
  if (left === undefined) return false;
  const plain = (status: PodAutoscalerStatus): readonly unknown[] => [
    status.observedGeneration,
    status.serviceName ?? "",
    status.metricsServiceName ?? "",
    status.desiredScale,
    status.actualScale,
    status.conditions?.length ?? 0,
  ];
  const before = plain(left);
  return (
    plain(right).every((value, index) => value === before[index]) &&
    (right.conditions ?? []).every((condition) => isSameCondition(left.conditions, condition))
  );
}

function isSameCondition(
  present: readonly KubeCondition[] | undefined,
  wanted: KubeCondition,
): boolean {
  const found = conditionOf(present, wanted.type);
  if (found === undefined || !saysTheSame(found, wanted)) return false;
  return found.lastTransitionTime === wanted.lastTransitionTime;
}

/** What a status says to a controller that has lost its memory. */
export function wasInitialised(scaler: PodAutoscaler): boolean {
  return conditionOf(scaler.status?.conditions, "ScaleTargetInitialized")?.status === "True";
}
