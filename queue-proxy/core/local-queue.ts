/**
 * The order of waiting requests inside one pod (early binding): the platform's waiting queue, fed
 * from the headers with which the activator sends a call. Bounded by the breaker, not here.
 */
import { nextFitting } from "../../common/hexgen/backfill.ts";
import { WaitingQueue } from "../../common/hexgen/waiting-queue.ts";
import type { WaitingEntry } from "../../common/hexgen/waiting-queue.ts";
import type { CallNote } from "../../common/contracts/call-note.ts";
import { parseOrderHeader } from "../../common/urgency.ts";

/** What the headers of a request say about its place. */
export interface QueuedCall {
  /** `Pilotlight-Order`. */
  readonly order: string | undefined;
  /** Deadline of the workflow, ms since the epoch; only under `urgency`. */
  readonly deadline: string | undefined;
  readonly tenant: string | undefined;
  readonly note: CallNote | undefined;
}

/** Behind everything that has an order: a request whose header is missing or malformed. */
const LAST = Number.MAX_SAFE_INTEGER;

interface Entry<T> extends WaitingEntry {
  readonly item: T;
  readonly promptTokens: number;
  readonly serviceUs: number;
}

export class LocalQueue<T> {
  /**
   * One queue for all orders: a call without a deadline is never demoted, and the key is the
   * activator's word.
   */
  readonly #queue = new WaitingQueue<Entry<T>>({ order: "urgency" });
  readonly #entries = new Map<T, Entry<T>>();
  #workUs = 0;
  #arrivals = 0;

  get size(): number {
    return this.#queue.size;
  }

  /** Sum of the expected times of what waits. */
  get workUs(): number {
    return this.#workUs;
  }

  /** A request that waited longer goes first. */
  setStarvationLimit(limitMs: number): void {
    this.#queue.setStarvationLimit(limitMs);
  }

  push(call: QueuedCall, item: T, now: number): void {
    this.#arrivals += 1;
    const entry = { ...placeOf(call, now, this.#arrivals), item, ...sizeOf(call) };
    this.#entries.set(item, entry);
    this.#queue.push(entry);
    this.#workUs += entry.serviceUs;
  }

  remove(item: T): boolean {
    const entry = this.#entries.get(item);
    if (entry === undefined) return false;
    this.#forget(entry);
    return this.#queue.remove(entry);
  }

  /** Takes out the request that is next, of those that fit; `undefined` when none may go now. */
  shift(now: number, fits: (promptTokens: number) => boolean): T | undefined {
    const next = nextFitting(this.#queue, now, (entry) => fits(entry.promptTokens));
    if (next === undefined) return undefined;
    this.#forget(next);
    this.#queue.admit(next);
    return next.item;
  }

  #forget(entry: Entry<T>): void {
    this.#entries.delete(entry.item);
    this.#workUs -= entry.serviceUs;
  }
}

function placeOf(call: QueuedCall, now: number, arrival: number): WaitingEntry {
  const unordered = { orderClass: 0, key: LAST, sequence: arrival } as const;
  const { orderClass, key, sequence } = parseOrderHeader(call.order ?? "") ?? unordered;
  const deadlineAt = instantOf(call.deadline);
  return {
    orderClass,
    key,
    sequence,
    deadlineAt,
    rest: restOf({ orderClass, key, deadlineAt }),
    waitingSince: now,
    ...(call.tenant === undefined ? {} : { tenant: call.tenant }),
  };
}

/** In class 0 the key is the deadline less the expected rest, in class 1 it is the rest. */
function restOf(place: Pick<WaitingEntry, "orderClass" | "key" | "deadlineAt">): number {
  if (place.orderClass === 1) return place.key;
  return place.deadlineAt === Infinity ? 0 : Math.max(0, place.deadlineAt - place.key);
}

function instantOf(text: string | undefined): number {
  return /^\d{1,16}$/.test(text ?? "") ? Number(text) : Infinity;
}

function sizeOf({ note }: QueuedCall): { promptTokens: number; serviceUs: number } {
  return { promptTokens: Math.max(note?.promptTokens ?? 0, 0), serviceUs: note?.serviceUs ?? 0 };
}
