/**
 * Bounded backfill: when the call that the order names does not fit, a later one of the same class
 * may be admitted instead, so that a long prompt does not leave cache empty in front of short ones.
 * A tight call lets only its next neighbour pass, a roomy one more, and none is passed for ever.
 */
import { isHopeless } from "../urgency.ts";
import type { WaitingEntry, WaitingQueue } from "./waiting-queue.ts";

/** Calls looked at, the head included. */
const DEPTH = 16;
const DEPTH_BEHIND_TIGHT = 2;
/** A head is tight when its laxity is below this many times its expected rest. */
const TIGHT_RESTS = 6;
/** Times that one head may be passed. */
const MOST_PASSES = 16;

/**
 * The call to admit now: the head when it fits, else one that may pass it; `undefined` when none
 * fits. A returned call that is not the head has passed it, which is counted on the head.
 */
export function nextFitting<T extends WaitingEntry>(
  queue: WaitingQueue<T>,
  now: number,
  fits: (entry: T) => boolean,
): T | undefined {
  const head = queue.head(now);
  if (head === undefined || fits(head)) return head;
  const passes = head.passedOver ?? 0;
  if (passes >= MOST_PASSES || queue.isStarved(head, now)) return undefined;
  const depth = isTight(head, now) ? DEPTH_BEHIND_TIGHT : DEPTH;
  const passing = queue.findBest(head.orderClass, depth, (entry) => entry !== head && fits(entry));
  if (passing !== undefined) head.passedOver = passes + 1;
  return passing;
}

function isTight(head: WaitingEntry, now: number): boolean {
  if (head.orderClass === 1 || isHopeless(now, head.deadlineAt, head.rest)) return false;
  return head.deadlineAt - head.rest - now < TIGHT_RESTS * head.rest;
}
