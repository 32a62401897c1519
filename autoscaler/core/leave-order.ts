/**
 * Which pods go first when there are too many: those that serve nobody, then those that serve the
 * fewest. Kubernetes only takes this as a hint; local mode follows it exactly.
 */
import type { TargetState } from "../../common/contracts/routing.ts";

export interface LeavingPod {
  readonly uid: string;
  readonly createdAt: number;
  /** The pod is on its way out already. */
  readonly terminating: boolean;
}

export interface LeavingTarget {
  readonly uid: string;
  readonly state: TargetState;
  readonly inFlight: number;
  readonly idleSince: number;
}

const RANK = {
  draining: 0,
  quarantined: 1,
  suspected: 2,
  notReady: 3,
  idle: 4,
  busy: 5,
} as const;
type Rank = keyof typeof RANK;

/** Uids, most expendable first. */
export function leaveOrder(
  pods: readonly LeavingPod[],
  targets: readonly LeavingTarget[],
): readonly string[] {
  const byUid = new Map(targets.map((target) => [target.uid, target]));
  return pods
    .map((pod) => {
      const target = byUid.get(pod.uid);
      return { pod, target, rank: RANK[rankOf(pod, target)] };
    })
    .toSorted(
      (left, right) =>
        left.rank - right.rank ||
        inFlight(left.target) - inFlight(right.target) ||
        idleSince(left.target) - idleSince(right.target) ||
        right.pod.createdAt - left.pod.createdAt ||
        (left.pod.uid < right.pod.uid ? -1 : 1),
    )
    .map((entry) => entry.pod.uid);
}

function rankOf(pod: LeavingPod, target: LeavingTarget | undefined): Rank {
  if (pod.terminating) return "draining";
  if (target === undefined) return "notReady";
  switch (target.state) {
    case "draining":
    case "quarantined":
    case "suspected":
      return target.state;
    case "starting":
    case "unready":
      return "notReady";
    case "ready":
      return target.inFlight > 0 ? "busy" : "idle";
  }
}

function inFlight(target: LeavingTarget | undefined): number {
  return target?.state === "ready" ? target.inFlight : 0;
}

/** Longest idle first; whoever is busy or unknown compares equal here. */
function idleSince(target: LeavingTarget | undefined): number {
  return target?.state === "ready" && target.inFlight === 0 ? target.idleSince : 0;
}
