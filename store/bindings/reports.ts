/** Bindings of the scripts that take what sidecars and activators say about targets. */
import type { PushReport } from "../../common/contracts/push.ts";
import { TARGET_STATES } from "../../common/contracts/routing.ts";
import type { TargetState } from "../../common/contracts/routing.ts";
import type { Heartbeat, ReportContext, ReportResult, TargetEvidence } from "../types.ts";
import { STATE_KEYS, flag } from "./binding.ts";
import type { Binding, Reply } from "./binding.ts";

interface Report {
  readonly report: PushReport;
  readonly context: ReportContext;
}

export const reportReadiness: Binding<Report, ReportResult & { more: boolean }> = {
  script: "report-readiness",
  keys: STATE_KEYS,
  args: [
    "uid",
    "boot",
    "sequence",
    "state",
    "reason",
    "address",
    "capacity",
    "inFlight",
    "occupied",
    "confirms",
    "podName",
    "build",
    "card",
    "marks",
    "asked",
    "running",
    "kvFree",
    "now",
  ],
  encode: ({ report, context }, { now }) => [
    report.podUid,
    String(report.boot),
    String(report.sequence),
    report.kind === "goodbye" ? "goodbye" : report.state,
    report.reason,
    `${report.address}:${report.port}`,
    String(report.capacity),
    String(report.inFlight),
    String(report.occupied),
    flag(report.reportsRunning),
    report.podName,
    report.build,
    context.card,
    JSON.stringify({ ...context.marks, ...report.marks }),
    report.asked.join(" "),
    report.running.join(" "),
    report.kvFreeTokens === undefined ? "" : String(report.kvFreeTokens),
    now,
  ],
  decode: (reply) => {
    const { status } = reply;
    if (status === "unknown-revision") return UNKNOWN;
    if (status !== "accepted" && status !== "stale" && status !== "buried") {
      throw reply.unexpected();
    }
    return {
      kind: status,
      state: stateOf(reply, 1),
      bootOnRecord: reply.number(2),
      sequenceOnRecord: reply.number(3),
      idle: reply.flag(4),
      targets: reply.number(5),
      more: reply.flag(6),
      ask: reply.texts(7),
    };
  },
};

const UNKNOWN = {
  kind: "unknown-revision",
  state: "starting",
  bootOnRecord: 0,
  sequenceOnRecord: 0,
  idle: true,
  targets: 0,
  more: false,
  ask: [],
} as const;

export function stateOf(reply: Reply, index: number): TargetState | "deleted" {
  const word = reply.text(index);
  if (word === "deleted") return word;
  const state = TARGET_STATES.find((known) => known === word);
  if (state === undefined) throw reply.unexpected(word, index);
  return state;
}

interface HeartbeatResult {
  /** Uids that must push their whole state. */
  readonly askWhole: readonly string[];
  readonly more: boolean;
}

export const reportHeartbeats: Binding<{ beats: readonly Heartbeat[] }, HeartbeatResult> = {
  script: "report-heartbeats",
  keys: STATE_KEYS,
  args: ["now", "beats"],
  encode: ({ beats }, { now }) => [
    now,
    ...beats.flatMap((beat) => [beat.podUid, String(beat.boot), String(beat.sequence)]),
  ],
  // Nobody knows the revision: every sidecar must push, so that it is known again at once.
  decode: (reply, { beats }) =>
    reply.status === "ok"
      ? { more: reply.flag(1), askWhole: reply.texts(2) }
      : { more: false, askWhole: beats.map((beat) => beat.podUid) },
};

interface Evidence {
  readonly targetUid: string;
  readonly leaseId: string;
  readonly evidence: TargetEvidence;
}

export const reportEvidence: Binding<Evidence, void> = {
  script: "report-evidence",
  keys: STATE_KEYS,
  args: ["uid", "leaseId", "evidence", "now"],
  encode: ({ targetUid, leaseId, evidence }, { now }) => [targetUid, leaseId, evidence, now],
  decode: () => undefined,
};

export const reportProbe: Binding<{ targetUid: string; passed: boolean }, void> = {
  script: "report-probe",
  keys: STATE_KEYS,
  args: ["uid", "passed", "now"],
  encode: ({ targetUid, passed }, { now }) => [targetUid, flag(passed), now],
  decode: () => undefined,
};
