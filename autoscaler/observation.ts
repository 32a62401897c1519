/** Everything one reconcile reads before it decides, in one round of calls. */
import type { RevisionFigures, RoutingStore } from "../store/types.ts";
import type { RevisionSettings } from "./core/settings/types.ts";
import type { ResourceUseSource, ScaledPod, ScaledRevision, ScaleTarget } from "./ports.ts";

export interface Observation {
  readonly figures: RevisionFigures;
  readonly replicas: number;
  /** Not leaving. */
  readonly pods: readonly ScaledPod[];
  /** Those that leave and are not gone yet included. */
  readonly existingPods: number;
  /** Changes when a pod comes, gets its card, begins to leave, or is gone. */
  readonly podSignature: string;
  readonly readyPods: number;
  readonly resourcePercent: number | null;
  readonly waitingFor: string;
}

export interface ObservationSources {
  readonly store: RoutingStore;
  readonly scale: ScaleTarget;
  readonly metricsSource?: ResourceUseSource | undefined;
}

export async function observe(
  sources: ObservationSources,
  revision: ScaledRevision,
  settings: RevisionSettings,
  record: "record" | "look",
): Promise<Observation> {
  const { key } = revision;
  const [figures, replicas, allPods, resourcePercent] = await Promise.all([
    sources.store.readFigures(key, { record: record === "record" }),
    sources.scale.readScale(key),
    sources.scale.listPods(key),
    resourceUse(sources, revision, settings),
  ]);
  const pods = allPods.filter((pod) => pod.phase !== "terminating");
  return {
    figures,
    replicas,
    pods,
    existingPods: allPods.length,
    podSignature: signatureOf(allPods),
    readyPods: readyCount(figures, pods),
    resourcePercent,
    waitingFor: pods.find((pod) => pod.waitingFor !== "")?.waitingFor ?? "",
  };
}

/**
 * Readiness is pushed, and reaches the store before the platform's pod objects show it; each of the
 * two counts comes from one look, so the larger one was seen at one instant.
 */
function readyCount(figures: RevisionFigures, pods: readonly ScaledPod[]): number {
  const shown = pods.filter((pod) => pod.phase === "ready").length;
  return Math.max(shown, Math.min(figures.targetsByState.ready, pods.length));
}

export function signatureOf(pods: readonly ScaledPod[]): string {
  return pods
    .map(({ phase, uid, card }) => `${phase === "terminating" ? "-" : ""}${uid} ${card}`)
    .toSorted()
    .join(" ");
}

async function resourceUse(
  sources: ObservationSources,
  revision: ScaledRevision,
  settings: RevisionSettings,
): Promise<number | null> {
  const { metric } = settings;
  if (metric !== "cpu" && metric !== "memory") return null;
  return (
    (await sources.metricsSource?.meanPercent(revision.key, metric, settings.windowMs)) ?? null
  );
}
