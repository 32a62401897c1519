/**
 * A card that works: a queue of waiting calls, a batch, and one action at a time. Two engines
 * implement this: the reference model of the golden runs and a detailed one.
 */
import type { WaitingEntry } from "../../../common/hexgen/waiting-queue.ts";
import type { CallTokens } from "./workload.ts";

/** A call that was dispatched to a card. */
export interface SimulatedCall extends WaitingEntry, CallTokens {
  /** Index of its workflow. */
  readonly workflow: number;
  /** Index of its stage's facts. */
  readonly stageIndex: number;
  /** What was booked as outstanding work. */
  readonly bookedUs: number;
  readonly dispatchedAtUs: number;
}

export interface Engine {
  /** End of the current action; `Infinity` while idle. */
  readonly actionEndsAtUs: number;
  /** Adds a waiting call; an idle engine starts at once. */
  enqueue(call: SimulatedCall, nowUs: number): void;
  /** Ends the current action and starts the next. Returns the calls that ended, in batch order. */
  advance(nowUs: number): readonly SimulatedCall[];
}
