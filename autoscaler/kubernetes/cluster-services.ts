/**
 * The services of a cluster as people look at them: traffic, revisions, settings, pods and what is
 * wrong, out of the objects of Knative and Kubernetes. For the dashboard and the command line; what
 * decides about pods reads `RevisionSource`. Pure.
 */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { ClusterDefaults } from "../core/settings/defaults.ts";
import { readSettings } from "../core/settings/settings.ts";
import type { RevisionSettings } from "../core/settings/types.ts";
import type { Condition, PodPhase } from "../ports.ts";
import { REVISION_LABEL, SERVICE_LABEL, conditionOf, keyOf } from "./objects.ts";
import type {
  KnativeService,
  KubeCondition,
  Pod,
  PodAutoscaler,
  Revision,
  TrafficTarget,
} from "./objects.ts";
import { phaseOf, waitingFor } from "./pod-facts.ts";
import { scaledRevision } from "./scaled-revision.ts";

export interface ClusterObjects {
  readonly services: readonly KnativeService[];
  readonly revisions: readonly Revision[];
  readonly scalers: readonly PodAutoscaler[];
  /** Those of revisions. */
  readonly pods: readonly Pod[];
  readonly defaults: ClusterDefaults;
}

export interface ClusterService {
  readonly key: RevisionKey;
  readonly namespace: string;
  readonly name: string;
  /** Empty before it has one. */
  readonly url: string;
  readonly conditions: readonly ClusterCondition[];
  /** `revision` is `null` for the latest ready one. */
  readonly traffic: readonly {
    readonly revision: string | null;
    readonly percent: number;
    readonly tag: string;
  }[];
  /** Oldest first. */
  readonly revisions: readonly ClusterRevision[];
}

export type ClusterCondition = Readonly<Record<"type" | "status" | "reason" | "message", string>>;

export interface ClusterRevision {
  readonly key: RevisionKey;
  readonly name: string;
  /** Share of the service's traffic, 0 to 100. */
  readonly percent: number;
  /** A route reaches it, it is the newest, or it has pods. */
  readonly active: boolean;
  readonly tags: readonly { readonly tag: string; readonly url: string }[];
  /** Instant, ms since the epoch. */
  readonly createdAt: number;
  readonly conditions: readonly Condition[];
  /** In force, live keys of the Service included. */
  readonly settings: RevisionSettings;
  readonly image: string;
  readonly desiredScale: number;
  readonly containerConcurrency: number;
  /** Why its pods do not start, in a sentence; empty when all is well. */
  readonly problem: string;
  readonly pods: readonly ClusterPod[];
}

export interface ClusterPod {
  readonly name: string;
  readonly phase: PodPhase;
  readonly createdAt: number;
  readonly restarts: number;
  /** Empty before it has one. */
  readonly address: string;
  readonly waitingFor: string;
}

export function clusterServices(objects: ClusterObjects): readonly ClusterService[] {
  const revisionsOf = groupBy(objects.revisions, ({ metadata }) =>
    keyOf(metadata.namespace ?? "", metadata.labels?.[SERVICE_LABEL] ?? ""),
  );
  const parts: Parts = {
    scalers: new Map(objects.scalers.map((scaler) => [keyOfObject(scaler), scaler])),
    pods: groupBy(objects.pods, ({ metadata }) =>
      keyOf(metadata.namespace ?? "", metadata.labels?.[REVISION_LABEL] ?? ""),
    ),
    defaults: objects.defaults,
  };
  return objects.services
    .map((service) => oneService(service, revisionsOf.get(keyOfObject(service)) ?? [], parts))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

interface Parts {
  readonly scalers: ReadonlyMap<string, PodAutoscaler>;
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  readonly defaults: ClusterDefaults;
}

function oneService(
  service: KnativeService,
  revisions: readonly Revision[],
  parts: Parts,
): ClusterService {
  const { name, namespace = "" } = service.metadata;
  const { url = "", conditions = [], traffic = [] } = service.status ?? {};
  return {
    key: keyOf(namespace, name),
    namespace,
    name,
    url,
    conditions: conditions.map(plainCondition),
    traffic: traffic.map(({ revisionName, latestRevision, percent = 0, tag = "" }) => ({
      revision: latestRevision === true ? null : (revisionName ?? null),
      percent,
      tag,
    })),
    revisions: revisions
      .toSorted(
        (a, b) => instantOf(a) - instantOf(b) || (a.metadata.name < b.metadata.name ? -1 : 1),
      )
      .map((revision) => oneRevision(service, revision, parts)),
  };
}

function oneRevision(service: KnativeService, revision: Revision, parts: Parts): ClusterRevision {
  const key = keyOfObject(revision);
  const scaler = parts.scalers.get(key);
  const pods = (parts.pods.get(key) ?? []).map(onePod);
  const { isReached, ...routes } = routesOf(service, revision.metadata.name);
  return {
    key,
    name: revision.metadata.name,
    ...routes,
    active: isReached || pods.length > 0,
    createdAt: instantOf(revision),
    ...scalerPart(scaler),
    settings: settingsOf(service, revision, scaler, parts.defaults),
    image: revision.spec?.containers?.[0]?.image ?? "",
    pods,
  };
}

function routesOf(
  { status }: KnativeService,
  name: string,
): Pick<ClusterRevision, "percent" | "tags"> & { readonly isReached: boolean } {
  const routes = (status?.traffic ?? []).filter((one) => one.revisionName === name);
  return {
    percent: routes.reduce((sum, { percent = 0 }) => sum + percent, 0),
    tags: routes.flatMap(tagOf),
    isReached: routes.length > 0 || status?.latestCreatedRevisionName === name,
  };
}

function scalerPart(
  scaler: PodAutoscaler | undefined,
): Pick<ClusterRevision, "conditions" | "desiredScale" | "containerConcurrency" | "problem"> {
  const { conditions = [], desiredScale = 0 } = scaler?.status ?? {};
  return {
    conditions: conditions.map(scalerCondition),
    // -1 says that nothing is known yet.
    desiredScale: Math.max(0, desiredScale),
    containerConcurrency: scaler?.spec?.containerConcurrency ?? 0,
    problem: problemOf(scaler),
  };
}

function tagOf({ tag, url }: TrafficTarget): { tag: string; url: string }[] {
  return tag === undefined || tag === "" ? [] : [{ tag, url: url ?? "" }];
}

function settingsOf(
  service: KnativeService,
  revision: Revision,
  scaler: PodAutoscaler | undefined,
  defaults: ClusterDefaults,
): RevisionSettings {
  // Before its scaler is there, a revision has its own annotations to speak for it.
  const stand: PodAutoscaler = scaler ?? { metadata: revision.metadata };
  const input = scaledRevision(stand, { revision, service, network: undefined });
  return readSettings({ ...input, requestsGpu: false }, defaults).settings;
}

/** At zero by its own will is no problem. */
function problemOf(scaler: PodAutoscaler | undefined): string {
  const ready = conditionOf(scaler?.status?.conditions, "Ready");
  if (ready?.status !== "False" || ready.reason === "NoTraffic") return "";
  return ready.message ?? ready.reason ?? "not ready";
}

function onePod(pod: Pod): ClusterPod {
  const statuses = pod.status?.containerStatuses ?? [];
  return {
    name: pod.metadata.name,
    phase: phaseOf(pod, ""),
    createdAt: instantOf(pod),
    restarts: statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    address: pod.status?.podIP ?? "",
    waitingFor: waitingFor(pod),
  };
}

function plainCondition(condition: KubeCondition): ClusterCondition {
  const { type, status, reason = "", message = "" } = condition;
  return { type, status, reason, message };
}

/** Written by our autoscaler, or with the same types by stock's. */
function scalerCondition(condition: KubeCondition): Condition {
  const { type, status, reason = "", message = "", lastTransitionTime = "" } = condition;
  const changedAt = Date.parse(lastTransitionTime) || 0;
  return { type: type as Condition["type"], status, reason, message, changedAt };
}

function instantOf({ metadata }: Revision | Pod): number {
  return Date.parse(metadata.creationTimestamp ?? "") || 0;
}

function keyOfObject({ metadata }: KnativeService | Revision | PodAutoscaler): RevisionKey {
  return keyOf(metadata.namespace ?? "", metadata.name);
}

function groupBy<T>(objects: readonly T[], keyOfOne: (object: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const object of objects) {
    const key = keyOfOne(object);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [object]);
    else group.push(object);
  }
  return groups;
}
