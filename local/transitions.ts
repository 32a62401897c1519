/**
 * What follows when a service changed: the traffic block that held is remembered, and traffic of
 * `latest` begins to move step by step where the service asks for that. Pure.
 */
import { latestReady } from "./revisions.ts";
import type { ServiceRecord } from "./revisions.ts";
import { beginRollout, nextStep } from "./rollout.ts";
import { latestPercent, latestSplit, trafficProblems } from "./traffic.ts";

export interface TransitionTime {
  readonly now: number;
  /** Of the service at present; 0: traffic moves at once. */
  readonly rolloutDurationMs: number;
}

export function settle(
  before: ServiceRecord | undefined,
  after: ServiceRecord,
  time: TransitionTime,
): ServiceRecord {
  const holds = trafficProblems(after).length === 0;
  const settled = holds ? { ...after, lastTraffic: after.definition.traffic } : after;
  return { ...settled, rollout: rolloutAfter(before, settled, time) };
}

function rolloutAfter(
  before: ServiceRecord | undefined,
  after: ServiceRecord,
  { now, rolloutDurationMs }: TransitionTime,
): ServiceRecord["rollout"] {
  if (rolloutDurationMs === 0 || before === undefined) return null;
  const [from, to] = [latestReady(before), latestReady(after)];
  // Only what served can go on serving meanwhile, and only what `latest` gets moves by itself.
  const isMoving = latestPercent(before) > 0 && latestPercent(after) > 0;
  if (from === undefined || to === undefined || !from.admitted || !isMoving) return null;
  if (from.name === to.name) return after.rollout;
  return beginRollout(to.name, latestSplit(before), now);
}

/** One step further; the same record when nothing moves. */
export function stepForward(record: ServiceRecord, now: number): ServiceRecord {
  if (record.rollout === null) return record;
  return { ...record, rollout: nextStep(record.rollout, now) };
}
