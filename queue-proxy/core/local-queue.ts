/**
 * The order of waiting requests inside one pod (early binding only): two classes, each by
 * (key, sequence). Class 0 can still make its limit, class 1 cannot; class 1 gets every eighth
 * admission while both wait, so that neither starves. Bounded by the breaker, not here.
 */

/** `Pilotlight-Order`: `<class>;<key in ms>;<sequence>`. */
export interface Order {
  readonly class: 0 | 1;
  readonly keyMs: number;
  readonly sequence: number;
}

/** Last in class 0: a request without a valid order follows those that have one. */
export const UNORDERED: Order = { class: 0, keyMs: Number.MAX_SAFE_INTEGER, sequence: 0 };

/** Admissions of class 0 beside a waiting class 1 before that gets its turn. */
const TURNS_OF_CLASS_0 = 7;

const ORDER = /^([01]);(-?\d{1,16});(\d{1,16})$/;

export function parseOrder(text: string | undefined): Order {
  const match = ORDER.exec(text ?? "");
  if (match === null) return UNORDERED;
  return {
    class: match[1] === "1" ? 1 : 0,
    keyMs: Number(match[2]),
    sequence: Number(match[3]),
  };
}

export class LocalQueue<T> {
  #classes: readonly [Entry<T>[], Entry<T>[]] = [[], []];
  #turns = 0;
  #arrivals = 0;

  get size(): number {
    return this.#classes[0].length + this.#classes[1].length;
  }

  push(order: Order, item: T): void {
    this.#arrivals += 1;
    const entry = { order, item, arrival: this.#arrivals };
    const list = this.#classes[order.class];
    list.splice(insertionPoint(list, entry), 0, entry);
  }

  remove(item: T): boolean {
    for (const list of this.#classes) {
      const index = list.findIndex((entry) => entry.item === item);
      if (index >= 0) {
        list.splice(index, 1);
        return true;
      }
    }
    return false;
  }

  shift(): T | undefined {
    const [urgent, lost] = this.#classes;
    const lostTurn = urgent.length === 0 || (lost.length > 0 && this.#turns >= TURNS_OF_CLASS_0);
    if (lostTurn) {
      this.#turns = 0;
      return lost.shift()?.item;
    }
    this.#turns = lost.length > 0 ? this.#turns + 1 : 0;
    return urgent.shift()?.item;
  }
}

interface Entry<T> {
  readonly order: Order;
  readonly item: T;
  readonly arrival: number;
}

function insertionPoint<T>(list: readonly Entry<T>[], entry: Entry<T>): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = list[middle];
    if (other !== undefined && isBefore(other, entry)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore<T>(a: Entry<T>, b: Entry<T>): boolean {
  if (a.order.keyMs !== b.order.keyMs) return a.order.keyMs < b.order.keyMs;
  if (a.order.sequence !== b.order.sequence) return a.order.sequence < b.order.sequence;
  return a.arrival < b.arrival;
}
