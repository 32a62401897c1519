/** Everything one reconcile reads before it decides, in one round of calls. */
import type { RevisionKey } from "../common/contracts/routing.ts";
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
  const waitingFor = pods.find((pod) => pod.waitingFor !== "")?.waitingFor;
  return {
    figures,
    replicas,
    pods,
    existingPods: allPods.length,
    podSignature: signatureOf(allPods),
    readyPods: readyCount(figures, pods),
    resourcePercent,
    waitingFor: waitingFor ?? (await slowStart(sources.store, key, figures)),
  };
}

/** Targets of which one is read for why it is not ready; a revision with more has other troubles. */
const MOST_STARTING = 256;

/** What a pod says of a start that callers wait for, in its own words; empty when nobody waits. */
async function slowStart(
  store: RoutingStore,
  key: RevisionKey,
  { waiting, targetsByState }: RevisionFigures,
): Promise<string> {
  const { ready, starting, unready } = targetsByState;
  const count = starting + unready;
  if (waiting === 0 || ready > 0 || count === 0 || count > MOST_STARTING) return "";
  const slow = (await store.readTargets(key)).find(
    ({ state, reason }) => (state === "starting" || state === "unready") && reason !== "",
  );
  return slow === undefined ? "" : `pod ${slow.podName} is not ready: ${slow.reason}`;
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
