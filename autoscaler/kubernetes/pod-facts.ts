/**
 * A pod object to what the controller knows of a pod: its phase, what it waits for, and whether it
 * goes. From all that the object says, never from one field. Pure.
 */
import type { PodPhase } from "../ports.ts";
import { conditionOf } from "./objects.ts";
import type { ContainerStatus, Pod } from "./objects.ts";

/** It holds nothing any more, whatever its object is still kept for. */
export function isOver(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase === "Failed" || phase === "Succeeded";
}

export function isReady(pod: Pod): boolean {
  const running = pod.status?.phase === "Running";
  return running && conditionOf(pod.status?.conditions, "Ready")?.status === "True";
}

/** Deleted, about to be preempted or evicted; empty while it stays. */
export function leavingReason(pod: Pod): string {
  if (pod.metadata.deletionTimestamp !== undefined) return "deleted";
  const target = conditionOf(pod.status?.conditions, "DisruptionTarget");
  return target?.status === "True" ? target.reason || target.type : "";
}

export function phaseOf(pod: Pod, nodeLeaves: string): PodPhase {
  if (leavingReason(pod) !== "" || nodeLeaves !== "") return "terminating";
  if (isReady(pod)) return "ready";
  if (pod.spec?.nodeName === undefined || !hasStarted(pod)) return "pending";
  return wasReady(pod) ? "unready" : "starting";
}

function containers(pod: Pod): readonly ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}

function hasStarted(pod: Pod): boolean {
  return containers(pod).some(
    ({ state, restartCount = 0 }) => state?.running !== undefined || restartCount > 0,
  );
}

/**
 * The instant of Ready moves only when the pod was ready before, so it is later than that of the
 * containers' start; kubelet writes both as not ready at one instant when the pod begins.
 */
export function wasReady(pod: Pod): boolean {
  const ready = conditionOf(pod.status?.conditions, "Ready");
  const begun = conditionOf(pod.status?.conditions, "Initialized");
  const [readyAt, begunAt] = [ready, begun].map((it) => Date.parse(it?.lastTransitionTime ?? ""));
  return (readyAt ?? Number.NaN) > (begunAt ?? Number.NaN) + 1_000;
}

/** Words of a pod that waits, for status and callers; empty: for nothing known. */
export function waitingFor(pod: Pod): string {
  if (isReady(pod) || leavingReason(pod) !== "") return "";
  return waitingForNode(pod) || waitingForContainers(pod);
}

function waitingForNode(pod: Pod): string {
  const scheduled = conditionOf(pod.status?.conditions, "PodScheduled");
  if (scheduled?.status === "False") {
    const { reason = "Unschedulable", message } = scheduled;
    return withDetail(`waiting for a node (${reason})`, message);
  }
  return pod.spec?.nodeName === undefined ? "waiting for a node" : "";
}

/** Kubelet says these of every start. */
const USUAL_REASONS = ["", "ContainerCreating", "PodInitializing"];

function waitingForContainers(pod: Pod): string {
  for (const { state } of containers(pod)) {
    const { reason = "", message } = state?.waiting ?? {};
    if (!USUAL_REASONS.includes(reason)) return withDetail(`waiting: ${reason}`, message);
  }
  return hasStarted(pod) ? "" : "pulling the image or preparing volumes";
}

const DETAIL_LENGTH = 300;

function withDetail(text: string, message: string | undefined): string {
  if (message === undefined || message === "") return text;
  return `${text}: ${message.slice(0, DETAIL_LENGTH)}`;
}
