/**
 * Which revisions a service has, as pure functions: a changed template makes a new revision, and
 * what nothing needs any more is forgotten. Where traffic goes is in traffic.ts.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Launch } from "./launch.ts";
import type { Rollout } from "./rollout.ts";
import type { ServiceDefinition, TemplateSpec, TrafficEntry } from "./service-types.ts";

const NUMBER_WIDTH = 5;
/** Revisions without traffic and pods that stay for a roll back, as many as Knative keeps. */
export const KEPT_INACTIVE = 20;

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
  /** The last traffic block that held; `null` before any did. */
  readonly lastTraffic: readonly TrafficEntry[] | null;
  /** How traffic of `latest` moves at present; `null`: it stands still. */
  readonly rollout: Rollout | null;
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
  if (record !== undefined && latest !== undefined && isSame(latest, definition, next.launch)) {
    return { ...record, definition };
  }
  const revision = newRevision(latest, definition, next);
  if (record === undefined) {
    return { definition, revisions: [revision], lastTraffic: null, rollout: null };
  }
  return { ...record, definition, revisions: [...record.revisions, revision] };
}

function newRevision(
  latest: RevisionRecord | undefined,
  { namespace, name: service, template }: ServiceDefinition,
  next: NewRevision,
): RevisionRecord {
  const number = (latest?.number ?? 0) + 1;
  const name = template.name || revisionName(service, number);
  return { key: `${namespace}/${name}`, name, number, template, ...next };
}

/** A name that the file gives is for one template only; the fault in the words of Knative. */
export function nameFault(
  record: ServiceRecord | undefined,
  definition: ServiceDefinition,
  launch: Launch,
): string {
  const { name } = definition.template;
  const taken = record?.revisions.find((revision) => revision.name === name);
  if (taken === undefined || isSame(taken, definition, launch)) return "";
  return `Saw changes of the template without a change of its name ${name}: spec.template.metadata.name`;
}

function isSame(revision: RevisionRecord, definition: ServiceDefinition, launch: Launch): boolean {
  const before = JSON.stringify([revision.template, revision.launch]);
  return before === JSON.stringify([definition.template, launch]);
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

/** What stays: whatever is in use, the latest ones, and some for a roll back. */
export function withoutForgotten(
  record: ServiceRecord,
  isInUse: (revision: RevisionRecord) => boolean,
): ServiceRecord {
  const newest = record.revisions.at(-1);
  const idle = record.revisions.filter((one) => one !== newest && !isInUse(one));
  const excess = new Set(idle.slice(0, Math.max(0, idle.length - KEPT_INACTIVE)));
  if (excess.size === 0) return record;
  return { ...record, revisions: record.revisions.filter((one) => !excess.has(one)) };
}
