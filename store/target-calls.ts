/** Calls about targets: what is said about them, and bringing them in line with the pods. */
import type { RevisionKey, TargetView } from "../common/contracts/routing.ts";
import {
  reportEvidence,
  reportHeartbeats,
  reportProbe,
  reportReadiness,
} from "./bindings/reports.ts";
import { readFigures } from "./bindings/revisions.ts";
import { comparePods, drainTarget, readTargets, removeTarget } from "./bindings/targets.ts";
import type { PodRow, TargetRow } from "./bindings/targets.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type { PodFact, RoutingStore } from "./types.ts";

type TargetCalls = Pick<
  RoutingStore,
  | "reportReadiness"
  | "reportHeartbeats"
  | "reportEvidence"
  | "reportProbe"
  | "readTargets"
  | "comparePods"
  | "drainTarget"
  | "removeTarget"
>;

/** Requests have to wait while the server works on a call, so it is kept short. */
export const HEARTBEAT_BATCH = 16;
const POD_BATCH = 32;
/** Sweeps in a row at most, each handing over up to 64 slots. */
const MOST_SWEEPS = 1_000;

export function createTargetCalls(caller: ScriptCaller): TargetCalls {
  /** A script handed over as much as it may in one go: go on until nothing is left. */
  const goOn = async (revision: RevisionKey, more: boolean): Promise<void> => {
    for (let sweeps = 0; more && sweeps < MOST_SWEEPS; sweeps += 1) {
      ({ more } = await caller.call(readFigures, revision, { record: false }));
    }
  };

  return {
    reportReadiness: async (report, context) => {
      const { revision } = report;
      const { more, ...result } = await caller.call(reportReadiness, revision, { report, context });
      await goOn(revision, more);
      return result;
    },
    reportHeartbeats: async (revision, beats) => {
      const askWhole: string[] = [];
      for (let from = 0; from < beats.length; from += HEARTBEAT_BATCH) {
        const batch = beats.slice(from, from + HEARTBEAT_BATCH);
        const result = await caller.call(reportHeartbeats, revision, { beats: batch });
        askWhole.push(...result.askWhole);
        await goOn(revision, result.more);
      }
      return askWhole;
    },
    reportEvidence: (revision, targetUid, leaseId, evidence) =>
      caller.call(reportEvidence, revision, { targetUid, leaseId, evidence }),
    reportProbe: (revision, targetUid, passed) =>
      caller.call(reportProbe, revision, { targetUid, passed }),
    readTargets: async (revision) => {
      const rows = await readRows(caller, revision, false);
      return rows.map(toView).toSorted((one, other) => one.admission - other.admission);
    },
    comparePods: async (revision, pods) => {
      const rows = await readRows(caller, revision, true);
      const changes = podChanges(rows, pods);
      for (let from = 0; from < changes.length; from += POD_BATCH) {
        const batch = changes.slice(from, from + POD_BATCH);
        await goOn(revision, await caller.call(comparePods, revision, { pods: batch }));
      }
    },
    drainTarget: (revision, targetUid, reason) =>
      caller.call(drainTarget, revision, { targetUid, reason }),
    removeTarget: (revision, targetUid, reason) =>
      caller.call(removeTarget, revision, { targetUid, reason }),
  };
}

/** All targets, page by page; a row that moves between pages may come twice, the last one counts. */
async function readRows(
  caller: ScriptCaller,
  revision: RevisionKey,
  buried: boolean,
): Promise<readonly TargetRow[]> {
  const rows = new Map<string, TargetRow>();
  let cursor = "0";
  do {
    const page = await caller.call(readTargets, revision, { cursor, buried });
    for (const row of page.rows) rows.set(row.uid, row);
    cursor = page.cursor;
  } while (cursor !== "0");
  return [...rows.values()];
}

function toView(row: TargetRow): TargetView {
  const { cause: _cause, state, ...view } = row;
  // Tombstones were not asked for.
  return { ...view, state: state === "deleted" ? "draining" : state };
}

/** What must be told to the store: new pods, pods to drain, pods with a tombstone, absent pods. */
export function podChanges(rows: readonly TargetRow[], pods: readonly PodFact[]): PodRow[] {
  const known = new Map(rows.map((row) => [row.uid, row]));
  const changes: PodRow[] = [];
  for (const pod of pods) {
    if (!isSettled(known.get(pod.uid), pod)) {
      const { uid, podName, card, draining } = pod;
      changes.push({ uid, podName, card, what: draining ? "draining" : "present" });
    }
    known.delete(pod.uid);
  }
  for (const { uid, cause } of known.values()) {
    if (cause !== "vanished") changes.push({ uid, podName: "", card: "", what: "absent" });
  }
  return changes;
}

/** The store knows all that the pod list says of this pod. */
function isSettled(row: TargetRow | undefined, pod: PodFact): boolean {
  if (row === undefined || row.state === "deleted") return false;
  if (pod.draining && row.state !== "draining") return false;
  return row.podName === pod.podName && (pod.card === "" || row.card === pod.card);
}
