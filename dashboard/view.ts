/**
 * Shapes of the dashboard's JSON, shared by the server and (as types only) by the page, and the
 * pure functions that build them. Instants are ms since the epoch.
 */
import type { ColdStartRecord } from "../common/contracts/channels.ts";
import type { RevisionKey, TargetState, TargetView } from "../common/contracts/routing.ts";
import type { CellsPage } from "../common/contracts/cells-page.ts";
import type { RunRecord } from "../common/contracts/async-runs.ts";
import type { RevisionKnowledge } from "../common/hexgen/knowledge.ts";
import type { RevisionFigures } from "../store/types.ts";
import type {
  ActivatorInfo,
  DecisionInfo,
  RevisionInfo,
  RunInfo,
  ScalerInfo,
  ServiceInfo,
} from "./facts.ts";
import type { TrafficView } from "./latency.ts";
import type { TargetChange } from "./transitions.ts";
import type { WorkflowRow } from "./workflow-row.ts";

/** Rows per revision in a snapshot; a page cannot show more in a useful way. */
export const TARGET_ROWS = 200;
export const DECISION_ROWS = 20;
export const COLD_START_ROWS = 20;
/** Characters of a call in the list of runs. */
const MOST_CALL_TEXT = 80;

export interface Snapshot {
  readonly at: number;
  readonly run: RunInfo;
  readonly store: StoreHealth;
  readonly activators: readonly ActivatorInfo[];
  readonly services: readonly ServiceView[];
  /** Newest first; absent where nobody is asked. */
  readonly workflows?: readonly WorkflowRow[];
  /** As one activator sees them; null or absent where there is one cell only. */
  readonly cells?: CellsPage | null;
}

export interface StoreHealth {
  readonly state: "ready" | "down";
  /** Time of one read in ms. */
  readonly readMs: number;
  /** In words; empty when all is well. */
  readonly reason: string;
}

export const SERVICE_STATES = ["serving", "starting", "at-zero", "failing", "unknown"] as const;
export type ServiceState = (typeof SERVICE_STATES)[number];

/** An asynchronous run as the page shows it. */
export type RunRow = Pick<
  RunRecord,
  "id" | "state" | "status" | "acceptedAt" | "startedAt" | "endedAt" | "delivery"
> & { readonly call: string };

export interface ServiceView {
  readonly namespace: string;
  readonly name: string;
  readonly url: string;
  readonly state: ServiceState;
  readonly problem: string;
  /** Newest first; absent where the service takes no asynchronous calls. */
  readonly runs?: readonly RunRow[];
  readonly revisions: readonly RevisionView[];
}

export interface RevisionView extends RevisionInfo {
  readonly desiredScale: number;
  /** Activators that serve it, of all there are; absent when not known: every one may. */
  readonly activatorsWanted?: number;
  readonly learnt?: RevisionKnowledge;
  /** `null` when the store could not be read. */
  readonly load: LoadView | null;
  /** The last minute of requests; null when none ended, or when nobody could be asked. */
  readonly traffic: TrafficView | null;
  readonly targets: readonly TargetRow[];
  /** Targets that exist; more than rows when there are very many. */
  readonly targetCount: number;
  readonly decisions: readonly DecisionInfo[];
  /** Newest first. */
  readonly coldStarts: readonly ColdStartRecord[];
}

export interface LoadView {
  /** Requests that hold a slot. */
  readonly running: number;
  readonly waiting: number;
  /** Age of the oldest waiting request in ms; 0 when none waits. */
  readonly oldestWaitMs: number;
  /** Requests per second since the sample before. */
  readonly arrivalRate: number;
  readonly targetsByState: Readonly<Record<TargetState, number>>;
}

export type TargetRow = Pick<
  TargetView,
  | "uid"
  | "podName"
  | "address"
  | "state"
  | "reason"
  | "capacity"
  | "inFlight"
  | "card"
  | "reportedAt"
  | "changedAt"
  | "idleSince"
  | "quarantinedUntil"
> & {
  /** Changes that this dashboard saw, oldest first. */
  readonly changes: readonly TargetChange[];
};

/** Columns of equal length, oldest first; one row per sample. */
export interface Series {
  readonly at: readonly number[];
  readonly running: readonly number[];
  readonly waiting: readonly number[];
  readonly ready: readonly number[];
  readonly starting: readonly number[];
  /** Pods that were ready and get nothing now: unready, suspected, quarantined, draining. */
  readonly unready: readonly number[];
  readonly desired: readonly number[];
}

export interface History {
  readonly sampleEveryMs: number;
  readonly series: Readonly<Record<RevisionKey, Series>>;
}

/** What was read of one revision in one sample. */
export interface RevisionReading {
  readonly figures: RevisionFigures;
  readonly targets: readonly TargetView[];
  readonly coldStarts: readonly ColdStartRecord[];
  /** Of its configuration; absent when not known. */
  readonly activatorsWanted?: number;
  readonly past?: RevisionPast;
}

/** What this process saw of a revision over time. */
export interface RevisionPast {
  readonly traffic: TrafficView | null;
  readonly changesOf: (uid: string) => readonly TargetChange[];
}

const NO_PAST: RevisionPast = { traffic: null, changesOf: () => [] };

export function revisionView(
  revision: RevisionInfo,
  scaler: ScalerInfo | undefined,
  reading: RevisionReading | undefined,
  before: RevisionFigures | undefined,
): RevisionView {
  return {
    ...revision,
    ...scalerView(scaler ?? NO_SCALER),
    ...(reading === undefined ? UNREAD : readingView(reading, before)),
  };
}

const NO_SCALER: ScalerInfo = { desiredScale: 0, decisions: [] };

function scalerView({
  desiredScale,
  decisions,
  learnt,
}: ScalerInfo): Pick<RevisionView, "desiredScale" | "decisions" | "learnt"> {
  const shown = decisions.filter(isChange).slice(-DECISION_ROWS);
  return { desiredScale, decisions: shown, ...(learnt === undefined ? {} : { learnt }) };
}

type ReadPart = Pick<
  RevisionView,
  "load" | "traffic" | "targets" | "targetCount" | "coldStarts" | "activatorsWanted"
>;

/** The store was away. */
const UNREAD: ReadPart = { load: null, traffic: null, targets: [], targetCount: 0, coldStarts: [] };

function readingView(
  { figures, targets, coldStarts, activatorsWanted, past = NO_PAST }: RevisionReading,
  before: RevisionFigures | undefined,
): ReadPart {
  return {
    load: loadView(figures, before),
    ...(activatorsWanted === undefined ? {} : { activatorsWanted }),
    traffic: past.traffic,
    targets: targets
      .slice(0, TARGET_ROWS)
      .map((target) => targetRow(target, past.changesOf(target.uid))),
    targetCount: targets.length,
    coldStarts: firstPerPod(coldStarts)
      .toSorted((a, b) => b.requestAt - a.requestAt)
      .slice(0, COLD_START_ROWS),
  };
}

export function runRow(run: RunRecord): RunRow {
  const { id, state, status, acceptedAt, startedAt, endedAt, delivery, request } = run;
  const call = `${request.method} ${request.target}`.slice(0, MOST_CALL_TEXT);
  return { id, state, status, acceptedAt, startedAt, endedAt, delivery, call };
}

export function serviceView(
  service: ServiceInfo,
  revisions: readonly RevisionView[],
  runs?: readonly RunRow[],
): ServiceView {
  const problem = revisions.find((revision) => revision.problem !== "")?.problem ?? "";
  const { namespace, name, url } = service;
  const state = serviceState(revisions, problem);
  const shown = { namespace, name, url, state, problem, revisions };
  return runs === undefined ? shown : { ...shown, runs };
}

export function loadView(figures: RevisionFigures, before: RevisionFigures | undefined): LoadView {
  return {
    running: figures.busy,
    waiting: figures.waiting,
    oldestWaitMs:
      figures.oldestArrivedAt === 0 ? 0 : Math.max(0, figures.at - figures.oldestArrivedAt) / 1000,
    arrivalRate: arrivalRate(figures, before),
    targetsByState: figures.targetsByState,
  };
}

/**
 * A start belongs to the request that the new pod served first. Others that came at zero waited for
 * a slot behind it, and their wait says nothing about the start.
 */
function firstPerPod(records: readonly ColdStartRecord[]): ColdStartRecord[] {
  const firsts = new Map<string, ColdStartRecord>();
  for (const record of records) {
    const known = firsts.get(record.podUid);
    if (known === undefined || record.dispatchedAt < known.dispatchedAt) {
      firsts.set(record.podUid, record);
    }
  }
  return [...firsts.values()];
}

/** Decisions that leave things as they are would crowd out those that a reader looks for. */
function isChange({ from, to }: DecisionInfo): boolean {
  return from !== to;
}

/** A pod that serves outweighs a problem elsewhere; a problem outweighs everything else. */
function serviceState(revisions: readonly RevisionView[], problem: string): ServiceState {
  const loads = revisions.flatMap(({ load }) => (load === null ? [] : [load]));
  const count = (state: TargetState): number =>
    loads.reduce((sum, load) => sum + load.targetsByState[state], 0);
  if (count("ready") > 0) return "serving";
  if (problem !== "") return "failing";
  if (loads.length === 0) return "unknown";
  if (count("starting") > 0 || revisions.some(({ desiredScale }) => desiredScale > 0)) {
    return "starting";
  }
  return "at-zero";
}

/** The counter starts anew when the store lost its figures; such a step has no rate. */
function arrivalRate(figures: RevisionFigures, before: RevisionFigures | undefined): number {
  if (before === undefined || before.since !== figures.since) return 0;
  const seconds = (figures.at - before.at) / 1_000_000;
  return seconds <= 0 ? 0 : Math.max(0, figures.arrivals - before.arrivals) / seconds;
}

function targetRow(target: TargetView, changes: readonly TargetChange[]): TargetRow {
  const { uid, podName, address, state, reason, capacity, inFlight, card } = target;
  const { reportedAt, changedAt, idleSince, quarantinedUntil } = target;
  return {
    uid,
    podName,
    address,
    state,
    reason,
    capacity,
    inFlight,
    card,
    reportedAt,
    changedAt,
    idleSince,
    quarantinedUntil,
    changes,
  };
}
