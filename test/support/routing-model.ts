/**
 * The small model behind the random test of the store: given the state before a call, what state a
 * target must be in after it, who must get a slot, and what must not change.
 */
import type { PushReport } from "../../common/contracts/push.ts";
import type { TargetEvidence } from "../../store/types.ts";
import type { RoutingDump, TargetDump, TicketDump } from "./routing-dump.ts";

const SECOND = 1_000_000;
const REVIVABLE = new Set(["silent", "misdirected"]);

export interface ModelSettings {
  readonly flapThreshold: number;
  readonly quarantineMaxUs: number;
}

type Before = TargetDump | undefined;

export function isNewer(report: { boot: number; sequence: number }, target: TargetDump): boolean {
  return (
    report.boot > target.boot || (report.boot === target.boot && report.sequence > target.sequence)
  );
}

/** Whether a newer event brings a deleted target back. */
export function canReturn(target: TargetDump): boolean {
  return REVIVABLE.has(target.cause);
}

/** A report that must change nothing. */
export function isDropped(before: Before, report: { boot: number; sequence: number }): boolean {
  if (before === undefined) return false;
  if (before.state === "deleted" && !canReturn(before)) return true;
  return !isNewer(report, before);
}

/** State after a report that is not dropped; `openAfter` is what the target then has in flight. */
export function stateAfterReport(
  before: Before,
  report: PushReport,
  openAfter: number,
  context: { readonly now: number; readonly settings: ModelSettings },
): string {
  const state = reportedState(before, report, context);
  return state === "draining" && openAfter === 0 ? "deleted" : state;
}

function reportedState(
  before: Before,
  report: PushReport,
  context: { readonly now: number; readonly settings: ModelSettings },
): string {
  if (report.kind === "goodbye") return "deleted";
  if (before === undefined || before.state === "deleted") return report.state;
  const { state } = before;
  if (state === "draining") return "draining";
  if (state === "quarantined") return report.state === "draining" ? "draining" : "quarantined";
  const returns = report.state === "ready" && state === "unready";
  return returns && isFlapping(before, context) ? "quarantined" : report.state;
}

function isFlapping(
  target: TargetDump,
  { now, settings }: { readonly now: number; readonly settings: ModelSettings },
): boolean {
  return target.flaps.filter((at) => now - at < 60 * SECOND).length >= settings.flapThreshold;
}

/** The set of states that evidence may lead to. */
export function statesAfterEvidence(
  dump: RoutingDump,
  before: TargetDump,
  evidence: TargetEvidence,
): readonly string[] {
  const { state } = before;
  if (evidence === "misdirected") return ["deleted"];
  if (evidence === "draining") return [before.inFlight === 0 ? "deleted" : "draining"];
  if (evidence === "connect-failed") return [stateAfterConnect(dump, before)];
  if (evidence === "pod-full" || state !== "ready") {
    return [state === "draining" && before.inFlight === 0 ? "deleted" : state];
  }
  // The first reset on a reused connection is forgiven.
  return evidence === "reset-reused" ? ["ready", "suspected"] : ["suspected"];
}

function stateAfterConnect(dump: RoutingDump, before: TargetDump): string {
  const { state } = before;
  if (state !== "ready" && state !== "suspected") return state;
  if (state === "suspected" && before.suspect === "silent") return "deleted";
  const out = Number(dump.meta.get("evidence") ?? 0);
  const counted = (name: string): number => Number(dump.meta.get(`n:${name}`) ?? 0);
  const usable = counted("ready") + counted("suspected") + out;
  return out < Math.max(1, Math.floor(usable / 4)) ? "quarantined" : "suspected";
}

export function stateAfterProbe(
  before: TargetDump,
  passed: boolean,
  context: { readonly now: number; readonly settings: ModelSettings },
): string {
  const { state } = before;
  const isOver = state === "quarantined" && context.now >= before.quarantinedUntil;
  if (state === "suspected" && !passed) return before.suspect === "silent" ? "deleted" : state;
  if (state === "suspected" || (isOver && passed)) return before.reported;
  const isHopeless = context.now - before.quarantinedSince >= context.settings.quarantineMaxUs;
  return isOver && isHopeless ? "deleted" : state;
}

/** First in the queue that is alive and may use the target: who must get its next free slot. */
export function firstFitting(dump: RoutingDump, uid: string): string | undefined {
  const clock = Number(dump.meta.get("clock") ?? 0);
  return dump.queue.find((id) => {
    const ticket = dump.requests.get(id) as TicketDump;
    const isAlive = (dump.activators.get(ticket.holder) ?? 0) > clock;
    return isAlive && !ticket.exclude.includes(uid);
  });
}
