/**
 * A card that works: a queue of waiting calls, a batch, and one action at a time. Two engines
 * implement this: the reference model of the golden runs and one with chunked prefill.
 */
import type { BatchingCard } from "../../../common/hexgen/batch-dispatch.ts";
import { nextFitting } from "../../../common/hexgen/backfill.ts";
import type { WaitingEntry, WaitingQueue } from "../../../common/hexgen/waiting-queue.ts";
import type { CallTokens } from "./workload.ts";

/** A call that was dispatched to a card. */
export interface SimulatedCall extends WaitingEntry, CallTokens {
  /** Index of its workflow. */
  readonly workflow: number;
  /** Index of its stage's facts. */
  readonly stageIndex: number;
  /** What was booked on the card: solo time and engine time. */
  bookedUs: number;
  bookedEngineUs: number;
}

export interface Engine {
  /** End of the current action; `Infinity` while idle. */
  readonly actionEndsAtUs: number;
  /** Adds a waiting call; an idle engine starts at once. */
  enqueue(call: SimulatedCall, nowUs: number): void;
  /** Ends the current action and starts the next. Returns the calls that ended, in batch order. */
  advance(nowUs: number): readonly SimulatedCall[];
  /** The card is lost: stops, and returns all calls that it held, waiting or running. */
  lose(): readonly SimulatedCall[];
}

/** Its prompt is computed; it has ended. */
export type CallPoint = "prefilled" | "ended";

export interface EngineParts {
  readonly card: BatchingCard;
  readonly queue: WaitingQueue<SimulatedCall>;
  readonly admission: "blocking" | "backfill";
  /** Cached tokens of a prompt whose prefill starts now; also told to remember it. */
  readonly startPrefill: (call: SimulatedCall) => number;
  /** A call of another card that may be admitted here; it is in this queue then. */
  readonly steal?: (fits: (call: SimulatedCall) => boolean) => SimulatedCall | undefined;
  /** A call has got that far, so what it computed may serve others. */
  readonly reached: (call: SimulatedCall, point: CallPoint) => void;
}

/** The call that may be admitted now, if any; it stays in the queue. */
export function nextAdmission(
  parts: EngineParts,
  nowUs: number,
  fits: (call: SimulatedCall) => boolean,
): SimulatedCall | undefined {
  if (parts.queue.size === 0) return parts.steal?.(fits);
  if (parts.admission === "backfill") return nextFitting(parts.queue, nowUs, fits);
  const head = parts.queue.head(nowUs);
  return head !== undefined && fits(head) ? head : undefined;
}
