/**
 * Every key and channel name in the store. All keys of a revision share the hash tag
 * `{namespace/revision}`, so they live in one slot and one script may touch them together.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";

/** Keys of the routing state of a revision, in the order in which scripts take them. */
export const ROUTING_KEYS = [
  /** Hash: configuration, clocks, figures, cursor, counts per state. */
  "meta",
  /** Hash, uid -> target, tombstones included. */
  "targets",
  /** Sorted set of the targets with a free slot, in the order of the policy: one in force ... */
  "index-a",
  /** ... and the other one, filled while a change of policy puts them in another order. */
  "index-b",
  /** Hash, lease id -> lease or ticket. */
  "requests",
  /** Sorted set in name order: lapsed leases of a target, evicted pods, leases in local queues. */
  "owned",
  /** Sorted set in name order: tickets by arrival and by rank, tenants that wait. */
  "queue",
  /** Sorted set of activators by the end of their lease. */
  "activators",
  /** Stream: the event log. */
  "events",
  /** Hash, uid -> what only changes of state need. */
  "details",
  /** Sorted set: heartbeat deadlines, probes due, ends of tombstones. */
  "timers",
  /** List of figures for the autoscaler. */
  "samples",
] as const;

/** Keys beside the routing state; plain commands use them. */
export const SIDE_KEYS = [
  "scaler",
  "coldstarts",
  "decisions",
  /** Stream: the call log. */
  "calls",
  /** What was learnt of the revision. */
  "knowledge",
] as const;

/** Keys for services of several cells: facts of a revision; book and own part of a service. */
export const CELL_KEYS = ["cell", "book", "share"] as const;

/** Key of a workflow: its figures and calls. */
export const WORKFLOW_KEYS = ["workflow"] as const;

/** Keys of the asynchronous runs of a service, in the order in which their scripts take them. */
export const RUN_KEYS = [
  /** Hash: unfinished runs, bytes kept, the time of the last beat. */
  "run-counts",
  /** Hash, run id -> the request without its body. */
  "run-requests",
  /** Hash, run id -> state. */
  "run-states",
  /** Hash, run id -> body of the request, later of the answer. */
  "run-payloads",
  /** Hash, run id -> headers of the request and secret of its webhook, until both are over. */
  "run-secrets",
  /** Sorted set of runs by the instant of their acceptance. */
  "run-accepted",
  /** Sorted set in name order: `<activator> <run>`. */
  "run-owned",
  /** Sorted set of activators by the end of their lease. */
  "run-owners",
  /** Sorted set of runs without an owner by the instant at which somebody must look. */
  "run-due",
] as const;

/** Beside them, for a plain command: hash, id of a run that went with a lost store -> 1. */
export const LOST_RUNS = "run-lost";

export type KeyName =
  | (typeof ROUTING_KEYS)[number]
  | (typeof SIDE_KEYS)[number]
  | (typeof CELL_KEYS)[number]
  | (typeof WORKFLOW_KEYS)[number]
  | (typeof RUN_KEYS)[number]
  | typeof LOST_RUNS;

export interface Keys {
  /** One key of a revision. */
  one(revision: RevisionKey, name: KeyName): string;
  /** Keys for a script. */
  list(revision: RevisionKey, names: readonly KeyName[]): readonly string[];
  /** Set of all revisions that have a configuration. */
  readonly revisions: string;
  /** Set of all services that have asynchronous runs. */
  readonly runServices: string;
  /** Channel of an activator's assignments is this and its id. */
  readonly assignPrefix: string;
  /** What was learnt of a class of workflows. */
  workflowClass(namespace: string, name: string): string;
  /** Sorted set of workflows by the instant of their first call. */
  readonly recentWorkflows: string;
  readonly wakeChannel: string;
  readonly configChannel: string;
  /** Set of services whose book of shares is kept here, and the mark that none was lost. */
  readonly books: string;
  readonly booksMark: string;
  readonly cellsChannel: string;
}

export function createKeys(prefix: string): Keys {
  const one = (revision: RevisionKey, name: KeyName): string => `${prefix}{${revision}}:${name}`;

  return {
    one,
    list: (revision, names) => names.map((name) => one(revision, name)),
    revisions: `${prefix}revisions`,
    runServices: `${prefix}run-services`,
    assignPrefix: `${prefix}assign:`,
    workflowClass: (namespace, name) => `${prefix}{class:${namespace}/${name}}`,
    recentWorkflows: `${prefix}recent-workflows`,
    wakeChannel: `${prefix}wake`,
    configChannel: `${prefix}config`,
    books: `${prefix}books`,
    booksMark: `${prefix}books-mark`,
    cellsChannel: `${prefix}cells`,
  };
}
