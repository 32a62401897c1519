/**
 * Where the traffic of a service goes, as pure functions: which traffic block holds, the share of
 * each revision, the hosts of tags, and which revisions a route reaches.
 */
import type { RouteEntry, RouteTarget } from "../common/contracts/local-run.ts";
import { latestReady } from "./revisions.ts";
import type { RevisionRecord, ServiceRecord } from "./revisions.ts";
import { rolloutSplit, scaleSplit } from "./rollout.ts";
import type { TrafficEntry } from "./service-types.ts";

/**
 * The file's traffic block where every revision that it names is there and was ready; otherwise the
 * last one that was: traffic never moves to what cannot serve.
 */
export function trafficInForce(record: ServiceRecord): readonly TrafficEntry[] {
  const wished = record.definition.traffic;
  if (record.lastTraffic === null || trafficProblems(record).length === 0) return wished;
  return record.lastTraffic;
}

/** Why the traffic block of the file does not hold, in the words of a Knative Route. */
export function trafficProblems(record: ServiceRecord): readonly string[] {
  const problems = record.definition.traffic.flatMap(({ revision: name }) => {
    if (name === null) return [];
    const revision = find(record, name);
    if (revision === undefined) return [`Revision "${name}" referenced in traffic not found.`];
    const held = record.lastTraffic !== null && !revision.admitted;
    return held ? [`Revision "${name}" is not yet ready.`] : [];
  });
  return [...new Set(problems)];
}

/** Percent of the service's traffic that goes to `latest`, however it is split. */
export function latestPercent(record: ServiceRecord): number {
  return trafficInForce(record)
    .filter(({ revision }) => revision === null)
    .reduce((sum, { percent }) => sum + percent, 0);
}

/** Who stands for `latest`: one revision, or several while traffic moves. Percents sum to 100. */
export function latestSplit(record: ServiceRecord): readonly RouteTarget[] {
  if (record.rollout !== null) return rolloutSplit(record.rollout);
  const latest = latestReady(record);
  return latest === undefined ? [] : [{ revision: latest.name, percent: 100 }];
}

/** Shares per revision, whole percents that sum to 100. */
export function trafficShares(record: ServiceRecord): readonly RouteTarget[] {
  const shares = new Map<string, number>();
  for (const entry of trafficInForce(record)) {
    for (const { revision, percent } of targetsOf(record, entry)) {
      shares.set(revision, (shares.get(revision) ?? 0) + percent);
    }
  }
  return [...shares].map(([revision, percent]) => ({ revision, percent }));
}

/** A revision that never was there gives its share to the latest: better than nobody. */
function targetsOf(record: ServiceRecord, entry: TrafficEntry): readonly RouteTarget[] {
  if (entry.percent === 0) return [];
  const named = entry.revision === null ? undefined : find(record, entry.revision);
  if (named !== undefined) return [{ revision: named.name, percent: entry.percent }];
  return scaleSplit(latestSplit(record), entry.percent);
}

/** Revisions that may have pods: those a route names, and the newest until it was ready once. */
export function reachableNames(record: ServiceRecord): ReadonlySet<string> {
  const names = new Set(routesOf(record).flatMap((route) => route.targets.map((t) => t.revision)));
  const latest = record.revisions.at(-1);
  if (latest !== undefined && !latest.admitted) names.add(latest.name);
  return names;
}

export interface TagRoute {
  readonly tag: string;
  readonly revision: string;
  readonly host: string;
}

/** A tag moves at once, also while the shares move step by step: it is there to try a revision. */
export function tagRoutes(record: ServiceRecord): readonly TagRoute[] {
  const { namespace, name } = record.definition;
  return trafficInForce(record).flatMap(({ tag, revision }) => {
    const target = revision === null ? latestReady(record) : find(record, revision);
    if (tag === "" || target === undefined) return [];
    const host = serviceHost(namespace, `${tag}-${name}`);
    return [{ tag, revision: target.name, host }];
  });
}

export function serviceHost(namespace: string, name: string): string {
  return `${name}.${namespace}.localhost`;
}

export function routesOf(record: ServiceRecord): readonly RouteEntry[] {
  const { namespace, name: service } = record.definition;
  const targets = trafficShares(record);
  if (targets.length === 0) return [];
  const both = (name: string, to: readonly RouteTarget[]): readonly RouteEntry[] =>
    // The second is the name by which services of a cluster call each other.
    [serviceHost(namespace, name), `${name}.${namespace}.svc.cluster.local`].map((host) => ({
      host,
      namespace,
      service,
      targets: to,
    }));
  const tagged = tagRoutes(record).flatMap(({ tag, revision }) =>
    both(`${tag}-${service}`, [{ revision, percent: 100 }]),
  );
  return [...both(service, targets), ...tagged];
}

/** All routes. A service's own host wins over the tag of another one that reads the same. */
export function allRoutes(records: readonly ServiceRecord[]): readonly RouteEntry[] {
  const routes = new Map<string, RouteEntry>();
  const all = records.flatMap(routesOf);
  const isOwn = (route: RouteEntry): boolean => route.host.startsWith(`${route.service}.`);
  for (const route of all.toSorted((left, right) => Number(isOwn(left)) - Number(isOwn(right)))) {
    routes.set(route.host, route);
  }
  return [...routes.values()];
}

function find(record: ServiceRecord, name: string): RevisionRecord | undefined {
  return record.revisions.find((revision) => revision.name === name);
}
