/**
 * Which revisions a service has and where its traffic goes, as pure functions: a changed template
 * makes a new revision, traffic moves to it when it is ready.
 */
import type { RouteEntry, RouteTarget } from "../common/contracts/local-run.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Launch } from "./launch.ts";
import type { ServiceDefinition, TemplateSpec } from "./service-types.ts";

const NUMBER_WIDTH = 5;

export interface RevisionRecord {
  readonly key: RevisionKey;
  readonly name: string;
  readonly number: number;
  readonly template: TemplateSpec;
  readonly launch: Launch;
  /** Instant, ms since the epoch. */
  readonly createdAt: number;
  /** Was ready once, or needs not be (initial scale 0): may have traffic. */
  readonly admitted: boolean;
}

export interface ServiceRecord {
  readonly definition: ServiceDefinition;
  /** Oldest first; the last one is the latest created. */
  readonly revisions: readonly RevisionRecord[];
}

export function revisionName(service: string, number: number): string {
  return `${service}-${String(number).padStart(NUMBER_WIDTH, "0")}`;
}

export interface NewRevision {
  readonly launch: Launch;
  readonly createdAt: number;
  readonly admitted: boolean;
}

/** The service with its new definition; a new revision only where the template or command changed. */
export function applyDefinition(
  record: ServiceRecord | undefined,
  definition: ServiceDefinition,
  next: NewRevision,
): ServiceRecord {
  const latest = record?.revisions.at(-1);
  const same =
    latest !== undefined &&
    JSON.stringify([latest.template, latest.launch]) ===
      JSON.stringify([definition.template, next.launch]);
  if (record !== undefined && same) return { ...record, definition };
  const number = (latest?.number ?? 0) + 1;
  const name = revisionName(definition.name, number);
  const revision: RevisionRecord = {
    key: `${definition.namespace}/${name}`,
    name,
    number,
    template: definition.template,
    ...next,
  };
  return { definition, revisions: [...(record?.revisions ?? []), revision] };
}

export function admit(record: ServiceRecord, key: RevisionKey): ServiceRecord {
  const revisions = record.revisions.map((revision) =>
    revision.key === key ? { ...revision, admitted: true } : revision,
  );
  return { ...record, revisions };
}

/**
 * Where traffic of `latest` goes: the newest revision that was ready; the very first has it at
 * once, so that its callers wait for it rather than find nothing.
 */
export function latestReady(record: ServiceRecord): RevisionRecord | undefined {
  return record.revisions.findLast((revision) => revision.admitted) ?? record.revisions[0];
}

/** Shares per revision. A revision that does not exist (any more) gives its share to the latest. */
export function trafficShares(record: ServiceRecord): readonly RouteTarget[] {
  const latest = latestReady(record);
  const shares = new Map<string, number>();
  for (const entry of record.definition.traffic) {
    const named = record.revisions.find((revision) => revision.name === entry.revision);
    const target = named ?? latest;
    if (target === undefined || entry.percent === 0) continue;
    shares.set(target.name, (shares.get(target.name) ?? 0) + entry.percent);
  }
  return [...shares].map(([revision, percent]) => ({ revision, percent }));
}

/** Revisions that a route names, the untested latest included: they may have pods. */
export function reachableNames(record: ServiceRecord): ReadonlySet<string> {
  const names = new Set(routesOf(record).flatMap((route) => route.targets.map((t) => t.revision)));
  const latest = record.revisions.at(-1);
  if (latest !== undefined) names.add(latest.name);
  return names;
}

/** Revisions named in the traffic block that do not exist. */
export function missingRevisions(record: ServiceRecord): readonly string[] {
  const known = new Set(record.revisions.map((revision) => revision.name));
  return record.definition.traffic.flatMap(({ revision }) =>
    revision === null || known.has(revision) ? [] : [revision],
  );
}

export function serviceHost(namespace: string, name: string): string {
  return `${name}.${namespace}.localhost`;
}

export function routesOf(record: ServiceRecord): readonly RouteEntry[] {
  const { namespace, name: service, traffic } = record.definition;
  const targets = trafficShares(record);
  if (targets.length === 0) return [];
  const route = (host: string, to: readonly RouteTarget[]): RouteEntry => ({
    host,
    namespace,
    service,
    targets: to,
  });
  const tagged = traffic.flatMap((entry) => {
    const named = record.revisions.find((revision) => revision.name === entry.revision);
    const target = entry.revision === null ? latestReady(record) : named;
    if (entry.tag === "" || target === undefined) return [];
    const host = serviceHost(namespace, `${entry.tag}-${service}`);
    return [route(host, [{ revision: target.name, percent: 100 }])];
  });
  return [
    route(serviceHost(namespace, service), targets),
    // The name by which services of a cluster call each other.
    route(`${service}.${namespace}.svc.cluster.local`, targets),
    ...tagged,
  ];
}
