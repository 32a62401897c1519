/** A cluster in the words of the dashboard. Pure. */
import { PRICE_FACTORS } from "../../common/compute-tier.ts";
import type { DecisionRecord } from "../../autoscaler/decision-log.ts";
import type { ClusterService } from "../../autoscaler/kubernetes/cluster-services.ts";
import type { Pod } from "../../autoscaler/kubernetes/objects.ts";
import { isReady, leavingReason, waitingFor } from "../../autoscaler/kubernetes/pod-facts.ts";
import type { RevisionKnowledge } from "../../common/hexgen/knowledge.ts";
import { PUSH_PORT } from "../../common/contracts/push.ts";
import type { ActivatorInfo, ScalerInfo, ServiceInfo } from "../facts.ts";

export function serviceFacts(services: readonly ClusterService[]): readonly ServiceInfo[] {
  return services.map(({ namespace, name, url, revisions }) => {
    // Those that are only kept for a roll back would fill the page.
    const shown = revisions.filter(({ active }) => active);
    return {
      namespace,
      name,
      url,
      takesRuns: shown.some(({ settings }) => settings.async === "enabled"),
      revisions: shown.map(({ key, percent, containerConcurrency, problem, ...revision }) => ({
        key,
        name: revision.name,
        percent,
        containerConcurrency,
        minScale: revision.settings.minScale,
        maxScale: revision.settings.maxScale,
        priceFactor: PRICE_FACTORS[revision.settings.computeTier],
        problem,
      })),
    };
  });
}

/** What the leader wrote to the store about one revision. */
export interface ScalingRecords {
  readonly decisions: readonly DecisionRecord[];
  readonly learnt: RevisionKnowledge | undefined;
}

export function scalerFacts(
  { decisions, learnt }: ScalingRecords,
  desiredScale: number,
): ScalerInfo {
  return {
    desiredScale,
    decisions: decisions.map(({ at, from, to, reason }) => ({ at, from, to, reason })),
    ...(learnt === undefined ? {} : { learnt }),
  };
}

export function activatorFacts(pods: readonly Pod[]): readonly ActivatorInfo[] {
  return pods
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((pod) => ({
      id: pod.metadata.name,
      url: addressOf(pod),
      state: isReady(pod) ? ("ready" as const) : ("down" as const),
      reason: leavingReason(pod) === "" ? waitingFor(pod) : "it ends its requests and leaves",
    }));
}

/** Where its figures are read; empty before the pod has an address. */
export function addressOf({ status }: Pod): string {
  const address = status?.podIP ?? "";
  if (address === "") return "";
  return `http://${address.includes(":") ? `[${address}]` : address}:${PUSH_PORT}`;
}
