/** Bindings of the scripts that list targets and bring them in line with the pods. */
import type { StartMarks, TargetView } from "../../common/contracts/routing.ts";
import { STATE_KEYS, flag } from "./binding.ts";
import type { Binding, Reply } from "./binding.ts";
import { stateOf } from "./reports.ts";

/** A target or, with state `deleted`, its tombstone and why it was deleted. */
export interface TargetRow extends Omit<TargetView, "state"> {
  readonly state: TargetView["state"] | "deleted";
  readonly cause: string;
}

export interface TargetPage {
  /** `0` at the end. */
  readonly cursor: string;
  readonly rows: readonly TargetRow[];
}

export const readTargets: Binding<{ cursor: string; buried: boolean }, TargetPage> = {
  script: "read-targets",
  keys: ["meta", "targets", "details"],
  args: ["cursor", "buried"],
  encode: ({ cursor, buried }) => [cursor, flag(buried)],
  decode: (reply) => ({
    cursor: reply.text(0),
    rows: Array.from({ length: reply.length - 1 }, (_, index) => decodeRow(reply.row(index + 1))),
  }),
};

function decodeRow(row: Reply): TargetRow {
  return {
    uid: row.text(0),
    state: stateOf(row, 1),
    admission: row.number(2),
    capacity: row.number(3),
    inFlight: row.number(4),
    idleSince: row.number(5),
    boot: row.number(6),
    sequence: row.number(7),
    address: row.text(8),
    reportedAt: row.number(9),
    podName: row.text(10),
    reason: row.text(11),
    card: row.text(12),
    marks: decodeMarks(row, 13),
    changedAt: row.number(14),
    quarantinedUntil: row.number(15),
    cause: row.text(16),
    outstandingUs: row.number(17),
  };
}

function decodeMarks(row: Reply, index: number): StartMarks {
  try {
    // Written by `report-readiness` from an object of this type.
    return JSON.parse(row.text(index)) as StartMarks;
  } catch {
    throw row.unexpected(row.values[index], index);
  }
}

export interface PodRow {
  readonly uid: string;
  readonly what: "present" | "draining" | "absent";
  readonly podName: string;
  readonly card: string;
}

export const comparePods: Binding<{ pods: readonly PodRow[] }, boolean> = {
  script: "compare-pods",
  keys: STATE_KEYS,
  args: ["now", "pods"],
  encode: ({ pods }, { now }) => [
    now,
    ...pods.flatMap((pod) => [pod.uid, pod.what, pod.podName, pod.card]),
  ],
  decode: (reply) => reply.status === "ok" && reply.flag(1),
};

interface TargetChange {
  readonly targetUid: string;
  readonly reason: string;
}

export const drainTarget: Binding<TargetChange, void> = {
  script: "drain-target",
  keys: STATE_KEYS,
  args: ["uid", "reason", "now"],
  encode: ({ targetUid, reason }, { now }) => [targetUid, reason, now],
  decode: () => undefined,
};

export const removeTarget: Binding<TargetChange, void> = {
  script: "remove-target",
  keys: STATE_KEYS,
  args: ["uid", "reason", "now"],
  encode: ({ targetUid, reason }, { now }) => [targetUid, reason, now],
  decode: () => undefined,
};
