/** What the parts know of services, joined for people and for the command line. */
import type { ScalerStatus } from "../autoscaler/ports.ts";
import type { ChildPods } from "./child-pods.ts";
import type { ServiceBook } from "./object-files.ts";
import type { RevisionSummary, ServiceCondition, ServiceSummary } from "./platform-types.ts";
import type { PodSummary } from "./pod-types.ts";
import type { RevisionRecord, ServiceRecord } from "./revisions.ts";
import { stepPercent } from "./rollout.ts";
import { settingsOf } from "./settings-check.ts";
import type { ScalerStatuses } from "./status.ts";
import {
  reachableNames,
  serviceHost,
  tagRoutes,
  trafficInForce,
  trafficProblems,
  trafficShares,
} from "./traffic.ts";

export interface StatusSources {
  readonly book: ServiceBook;
  readonly pods: ChildPods;
  readonly ingressPort: number;
}

export function summarizeServices(
  sources: StatusSources,
  statuses: ScalerStatuses,
): readonly ServiceSummary[] {
  return sources.book.services().map((service) => {
    const { key, namespace, name, file } = service.definition;
    const revisions = service.revisions.map((revision) =>
      summarizeRevision({ service, revision, sources, status: statuses.get(revision.key) }),
    );
    const { rollout } = service;
    return {
      key,
      namespace,
      name,
      url: urlOf(sources, serviceHost(namespace, name)),
      file,
      traffic: trafficInForce(service),
      rollout: rollout === null ? null : { to: rollout.to, percent: stepPercent(rollout.step) },
      conditions: serviceConditions(service, revisions),
      revisions,
    };
  });
}

interface RevisionParts {
  readonly service: ServiceRecord;
  readonly revision: RevisionRecord;
  readonly sources: StatusSources;
  readonly status: ScalerStatus | undefined;
}

function summarizeRevision(parts: RevisionParts): RevisionSummary {
  const { service, revision, sources, status } = parts;
  const share = trafficShares(service).find((target) => target.revision === revision.name);
  const pods = sources.pods.summaries().filter((pod) => pod.key === revision.key);
  const isNewest = service.revisions.at(-1) === revision;
  return {
    key: revision.key,
    name: revision.name,
    percent: share?.percent ?? 0,
    active: isNewest || pods.length > 0 || reachableNames(service).has(revision.name),
    tags: tagRoutes(service)
      .filter((route) => route.revision === revision.name)
      .map(({ tag, host }) => ({ tag, url: urlOf(sources, host) })),
    createdAt: revision.createdAt,
    conditions: status?.conditions ?? [],
    settings: settingsOf(service.definition.annotations, revision.template),
    command: revision.launch.shown,
    desiredScale: status?.desiredScale ?? 0,
    containerConcurrency: revision.template.containerConcurrency,
    problem: problemOf(pods, status),
    pods,
  };
}

function urlOf({ ingressPort }: StatusSources, host: string): string {
  return `http://${host}:${ingressPort}`;
}

function problemOf(pods: readonly PodSummary[], status: ScalerStatus | undefined): string {
  const failing = pods.find((pod) => pod.failure !== null)?.failure;
  if (failing !== undefined && failing !== null) return failing.message;
  const ready = status?.conditions.find(({ type }) => type === "Ready");
  // At zero by its own will is no problem.
  return ready?.status === "False" && ready.reason !== "NoTraffic" ? ready.message : "";
}

type Judgement = Omit<ServiceCondition, "type">;

const WELL: Judgement = { status: "True", reason: "", message: "" };

/** Ready is the worse of the two others, as on a Knative Service. */
function serviceConditions(
  service: ServiceRecord,
  revisions: readonly RevisionSummary[],
): readonly ServiceCondition[] {
  const both = [
    { type: "ConfigurationsReady" as const, ...configurationJudgement(service, revisions) },
    { type: "RoutesReady" as const, ...routeJudgement(service) },
  ];
  const worst =
    both.find(({ status }) => status === "False") ?? both.find(({ status }) => status !== "True");
  const { status, reason, message } = worst ?? WELL;
  return [{ type: "Ready", status, reason, message }, ...both];
}

function configurationJudgement(
  service: ServiceRecord,
  revisions: readonly RevisionSummary[],
): Judgement {
  const newest = service.revisions.at(-1);
  if (newest === undefined || newest.admitted) return WELL;
  const problem = revisions.at(-1)?.problem ?? "";
  if (problem === "") return { status: "Unknown", reason: "", message: "" };
  const message = `Revision "${newest.name}" failed with message: ${problem}.`;
  return { status: "False", reason: "RevisionFailed", message };
}

function routeJudgement(service: ServiceRecord): Judgement {
  const problems = trafficProblems(service);
  if (problems.length > 0) {
    return { status: "False", reason: "RevisionMissing", message: problems.join(" ") };
  }
  if (service.rollout === null) return WELL;
  const message = "A gradual rollout of the latest revision(s) is in progress.";
  return { status: "Unknown", reason: "RolloutInProgress", message };
}
