/**
 * Deadline, laxity and urgency: the key by which a waiting call is ordered, in every queue of the
 * platform (shared, local, simulated). Pure and free of units: one call uses one unit throughout.
 * Every key is static, so a heap never needs to be sorted again; only the class of `urgency` may
 * change, once, from 0 to 1.
 */
import type { QueueOrder } from "./contracts/routing.ts";
import { impossible } from "./exhaustive.ts";

/** 0: can still meet its deadline; 1: lost, served in what the others leave and in a reserved share. */
export type OrderClass = 0 | 1;

/** What a call must tell so that any order can rank it. */
export interface RankedCall {
  /** Instant at which all calls it depends on had ended. */
  readonly readyAt: number;
  /** Budget of its stage, from `readyAt`. */
  readonly budget: number;
  /** Estimate on the target that holds it; in the shared queue the smallest over the profiles. */
  readonly serviceTime: number;
  readonly workflowArrivedAt: number;
  readonly deadlineAt: number;
  /** Expected work of the workflow from this stage on; fixed when the stage became ready. */
  readonly rest: number;
}

export interface OrderKey {
  readonly orderClass: OrderClass;
  readonly key: number;
  readonly sequence: number;
}

/** A lost call is one that would miss its deadline even at twice the expected speed. */
const HOPELESS_SPEED_UP = 0.5;

const ORDER_ALIASES: Readonly<Record<string, QueueOrder>> = {
  fifo: "fifo",
  fcfs: "fifo",
  pq: "pq",
  edf_wf: "edf_wf",
  wfifo: "wfifo",
  urgency: "urgency",
  llf_wf: "urgency",
};

/** The order of that name; aliases: `llf_wf` for `urgency`, `fcfs` for `fifo`. */
export function parseQueueOrder(name: string): QueueOrder | undefined {
  return Object.hasOwn(ORDER_ALIASES, name) ? ORDER_ALIASES[name] : undefined;
}

/** Latest instant at which the call can start and still keep its budget. */
export function latestStart(readyAt: number, budget: number, serviceTime: number): number {
  return readyAt + budget - serviceTime;
}

/** How far past its latest start a call is; grows with time at the same rate for all. */
export function urgency(call: RankedCall, now: number): number {
  return call.serviceTime - (call.budget - (now - call.readyAt));
}

/** True when the workflow cannot meet its deadline any more; the bound itself can. */
export function isHopeless(now: number, deadlineAt: number, rest: number): boolean {
  return now + HOPELESS_SPEED_UP * rest > deadlineAt;
}

/** Last instant at which the call still counts as able to meet its deadline. */
export function hopelessAfter(deadlineAt: number, rest: number): number {
  return deadlineAt - HOPELESS_SPEED_UP * rest;
}

/** The static key of a call, smaller first; for `urgency` the key depends on the class. */
export function orderKey(order: QueueOrder, call: RankedCall, orderClass: OrderClass): number {
  switch (order) {
    case "fifo":
      return 0;
    case "pq":
      return latestStart(call.readyAt, call.budget, call.serviceTime);
    case "edf_wf":
      return call.deadlineAt;
    case "wfifo":
      return call.workflowArrivedAt;
    case "urgency":
      return orderClass === 0 ? call.deadlineAt - call.rest : call.rest;
    default:
      return impossible(order);
  }
}

/** The class of a call that enters a queue at `now`; only `urgency` has a second class. */
export function orderClass(order: QueueOrder, call: RankedCall, now: number): OrderClass {
  return order === "urgency" && isHopeless(now, call.deadlineAt, call.rest) ? 1 : 0;
}

/** Negative when `left` is served before `right`. */
export function compareOrderKeys(left: OrderKey, right: OrderKey): number {
  if (left.orderClass !== right.orderClass) return left.orderClass - right.orderClass;
  if (left.key !== right.key) return left.key < right.key ? -1 : 1;
  return left.sequence - right.sequence;
}

/** Admissions of class 0 beside waiting lost calls after which one of those is due. */
const ADMISSIONS_BEFORE_RESERVED = 7;

/**
 * The reserved share of class 1: every eighth admission while both classes wait, so that demotion
 * starves nobody. One per queue.
 */
export class ReservedShare {
  #passed = 0;

  /** Class whose head is next. */
  next(waitingInClass0: number, waitingInClass1: number): OrderClass {
    if (waitingInClass0 === 0) return 1;
    return waitingInClass1 > 0 && this.#passed >= ADMISSIONS_BEFORE_RESERVED ? 1 : 0;
  }

  /** To be told of every admission. */
  admitted(admittedClass: OrderClass, waitingInClass1: number): void {
    this.#passed = admittedClass === 0 && waitingInClass1 > 0 ? this.#passed + 1 : 0;
  }
}

/** Value of the order header: `<class>;<key in whole ms>;<sequence>`. */
export function formatOrderHeader(order: OrderKey): string {
  return `${order.orderClass};${Math.floor(order.key + 0.5)};${order.sequence}`;
}

const ORDER_HEADER_FORM = /^([01]);(-?\d{1,16});(\d{1,16})$/;

/** Reads the order header back; `undefined` when it is malformed. */
export function parseOrderHeader(text: string): OrderKey | undefined {
  const match = ORDER_HEADER_FORM.exec(text);
  if (match === null) return undefined;
  return {
    orderClass: match[1] === "1" ? 1 : 0,
    key: Number(match[2]),
    sequence: Number(match[3]),
  };
}
