/**
 * The queue of calls that wait for admission, in any of the orders: local queue of a sidecar and
 * queue of a simulated card. Under `urgency` it moves calls to class 1 as they become hopeless and
 * gives that class its reserved share; a call that waited too long goes first under every order.
 */
import type { QueueOrder } from "../contracts/routing.ts";
import type { OrderClass } from "../urgency.ts";
import { hopelessAfter, isHopeless, ReservedShare } from "../urgency.ts";
import { Heap } from "./heap.ts";

/** One waiting call. The queue owns `orderClass` from the push on. */
export interface WaitingEntry {
  orderClass: OrderClass;
  /** Key in class 0; in class 1 the key is `rest`. */
  readonly key: number;
  readonly sequence: number;
  readonly deadlineAt: number;
  readonly rest: number;
  /** When it began to wait, in the unit of the limit. */
  readonly waitingSince: number;
  /** Lost calls of one tenant never pass calls of another that can still be met. */
  readonly tenant?: string;
  /** Times that another call was admitted although this one was the head. */
  passedOver?: number;
}

export interface WaitingQueueOptions {
  readonly order: QueueOrder;
  /** A call that waited longer is served next, oldest first; `Infinity` switches it off. */
  readonly starvationLimit?: number;
}

/** Dead entries of a heap beyond the living ones that are kept before they are thrown out. */
const KEPT_GARBAGE = 64;

export class WaitingQueue<T extends WaitingEntry> {
  readonly #order: QueueOrder;
  #starvationLimit: number;
  readonly #waiting = new Set<T>();
  readonly #classes: readonly [Heap<T>, Heap<T>] = [
    new Heap<T>(isBeforeByKey),
    new Heap<T>(isBeforeByRest),
  ];
  readonly #crossing = new Heap<T>(crossesBefore);
  readonly #byAge = new Heap<T>(isOlder);
  readonly #share = new ReservedShare();
  readonly #class0ByTenant = new Map<string, number>();
  #waitingInClass1 = 0;

  constructor(options: WaitingQueueOptions) {
    this.#order = options.order;
    this.#starvationLimit = options.starvationLimit ?? Infinity;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Takes effect for what waits already, too. */
  setStarvationLimit(limit: number): void {
    const wasOff = this.#starvationLimit === Infinity;
    this.#starvationLimit = limit;
    if (!wasOff || limit === Infinity) return;
    for (const entry of this.#waiting) this.#byAge.push(entry);
  }

  *[Symbol.iterator](): Iterator<T> {
    yield* this.#waiting;
  }

  push(entry: T): void {
    this.#waiting.add(entry);
    this.#classes[entry.orderClass].push(entry);
    this.#count(entry, 1);
    if (entry.orderClass === 0 && this.#order === "urgency") this.#crossing.push(entry);
    if (this.#starvationLimit < Infinity) this.#byAge.push(entry);
  }

  /** The call that the order names now; it stays in the queue. */
  head(now: number): T | undefined {
    this.#demote(now);
    const starved = this.#starved(now);
    if (starved !== undefined) return starved;
    const inClass0 = this.#waiting.size - this.#waitingInClass1;
    if (this.#share.next(inClass0, this.#waitingInClass1) === 0) return this.#top(0);
    const lost = this.#top(1);
    return lost !== undefined && this.#mayPass(lost, inClass0) ? lost : this.#top(0);
  }

  /** True when it has waited longer than the limit, so that nothing may pass it. */
  isStarved(entry: T, now: number): boolean {
    return now - entry.waitingSince > this.#starvationLimit;
  }

  /** The first accepted call among the best `count` of a class, as of the last `head`. */
  findBest(
    orderClass: OrderClass,
    count: number,
    isAccepted: (entry: T) => boolean,
  ): T | undefined {
    const waits = (entry: T): boolean =>
      entry.orderClass === orderClass && this.#waiting.has(entry);
    return this.#classes[orderClass].findBest(count, waits, isAccepted);
  }

  /** Takes a call out because it is admitted; it counts for the reserved share. */
  admit(entry: T): void {
    if (!this.#waiting.has(entry)) return;
    this.remove(entry);
    this.#share.admitted(entry.orderClass, this.#waitingInClass1);
  }

  /** Takes a call out without admission (cancelled, moved elsewhere). True when it waited here. */
  remove(entry: T): boolean {
    if (!this.#waiting.delete(entry)) return false;
    this.#count(entry, -1);
    this.#throwOutGarbage(this.#classes[0]);
    this.#throwOutGarbage(this.#classes[1]);
    this.#throwOutGarbage(this.#crossing);
    this.#throwOutGarbage(this.#byAge);
    return true;
  }

  /** Last instant at which no further call has become hopeless; `Infinity` when none can. */
  nextCrossingAt(): number {
    for (;;) {
      const next = this.#crossing.peek();
      if (next === undefined) return Infinity;
      if (this.#waiting.has(next)) return hopelessAfter(next.deadlineAt, next.rest);
      this.#crossing.pop();
    }
  }

  #demote(now: number): void {
    for (;;) {
      const next = this.#crossing.peek();
      if (next === undefined) return;
      const waits = this.#waiting.has(next);
      if (waits && !isHopeless(now, next.deadlineAt, next.rest)) return;
      this.#crossing.pop();
      if (waits) this.#moveToClass1(next);
    }
  }

  #moveToClass1(entry: T): void {
    this.#count(entry, -1);
    entry.orderClass = 1;
    this.#count(entry, 1);
    this.#classes[1].push(entry);
  }

  #mayPass(lost: T, inClass0: number): boolean {
    return inClass0 === (this.#class0ByTenant.get(lost.tenant ?? "") ?? 0);
  }

  #count(entry: T, change: 1 | -1): void {
    if (entry.orderClass === 1) {
      this.#waitingInClass1 += change;
      return;
    }
    const tenant = entry.tenant ?? "";
    const count = (this.#class0ByTenant.get(tenant) ?? 0) + change;
    if (count === 0) this.#class0ByTenant.delete(tenant);
    else this.#class0ByTenant.set(tenant, count);
  }

  /** Top of a class; entries that left or changed class are dropped when they come to the top. */
  #top(orderClass: OrderClass): T | undefined {
    const heap = this.#classes[orderClass];
    for (;;) {
      const entry = heap.peek();
      if (entry === undefined) return undefined;
      if (entry.orderClass === orderClass && this.#waiting.has(entry)) return entry;
      heap.pop();
    }
  }

  #starved(now: number): T | undefined {
    for (;;) {
      const oldest = this.#byAge.peek();
      if (oldest === undefined) return undefined;
      if (this.#waiting.has(oldest)) {
        return this.isStarved(oldest, now) ? oldest : undefined;
      }
      this.#byAge.pop();
    }
  }

  #throwOutGarbage(heap: Heap<T>): void {
    if (heap.size > 2 * this.#waiting.size + KEPT_GARBAGE) {
      heap.retain((entry) => this.#waiting.has(entry));
    }
  }
}

function isBeforeByKey(left: WaitingEntry, right: WaitingEntry): boolean {
  if (left.key !== right.key) return left.key < right.key;
  return left.sequence < right.sequence;
}

function isBeforeByRest(left: WaitingEntry, right: WaitingEntry): boolean {
  if (left.rest !== right.rest) return left.rest < right.rest;
  return left.sequence < right.sequence;
}

function crossesBefore(left: WaitingEntry, right: WaitingEntry): boolean {
  return hopelessAfter(left.deadlineAt, left.rest) < hopelessAfter(right.deadlineAt, right.rest);
}

function isOlder(left: WaitingEntry, right: WaitingEntry): boolean {
  if (left.waitingSince !== right.waitingSince) return left.waitingSince < right.waitingSince;
  return left.sequence < right.sequence;
}
