/**
 * How many requests the container works on at once. Requests with a lease are never queued here
 * (another pod may be free) unless early binding asks for a local queue; requests that came another
 * way wait as in stock Knative, up to ten times the limit.
 */
import type { Order } from "./local-queue.ts";
import { LocalQueue } from "./local-queue.ts";

/** Stock Knative's depth of the queue in one pod, in multiples of the limit. */
const STOCK_QUEUE_FACTOR = 10;

/** One request at the breaker. `start` runs as soon as the request holds a slot. */
export interface Entrant {
  readonly start: () => void;
}

export type Admission = "started" | "queued" | "full";

export class Breaker {
  readonly #limit: number;
  #active = 0;
  #occupied = 0;
  #localDepth = 0;
  #stock = new Set<Entrant>();
  #local = new LocalQueue<Entrant>();
  #lastFrom: "local" | "stock" = "stock";

  /** `limit` 0 means no limit. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Requests that hold a slot. */
  get active(): number {
    return this.#active;
  }

  get waiting(): number {
    return this.#stock.size + this.#local.size;
  }

  /** Slots that the container keeps busy for callers that left. */
  setOccupied(count: number): void {
    this.#occupied = count;
    this.#startWaiting();
  }

  /** Live value of the local queue; what already waits stays. */
  setLocalDepth(depth: number): void {
    this.#localDepth = depth;
  }

  /** A request whose slot the activator reserved. */
  admitLeased(entrant: Entrant, order: Order): Admission {
    if (this.#start(entrant)) return "started";
    if (this.#local.size >= this.#localDepth) return "full";
    this.#local.push(order, entrant);
    return "queued";
  }

  /** A request that came another way. */
  admitForeign(entrant: Entrant): Admission {
    if (this.#start(entrant)) return "started";
    if (this.#stock.size >= this.#limit * STOCK_QUEUE_FACTOR) return "full";
    this.#stock.add(entrant);
    return "queued";
  }

  /** Takes a waiting request out; false when it does not wait (any more). */
  leave(entrant: Entrant): boolean {
    return this.#stock.delete(entrant) || this.#local.remove(entrant);
  }

  /** Gives a slot back and starts the next. */
  release(): void {
    this.#active -= 1;
    this.#startWaiting();
  }

  #start(entrant: Entrant): boolean {
    if (!this.#hasRoom()) return false;
    this.#active += 1;
    entrant.start();
    return true;
  }

  #hasRoom(): boolean {
    return this.#limit === 0 || this.#active + this.#occupied < this.#limit;
  }

  #startWaiting(): void {
    while (this.waiting > 0 && this.#hasRoom()) {
      const next = this.#next();
      if (next === undefined) return;
      this.#active += 1;
      next.start();
    }
  }

  /** The two queues take turns, so that neither starves the other. */
  #next(): Entrant | undefined {
    const fromLocal =
      this.#local.size > 0 && (this.#stock.size === 0 || this.#lastFrom === "stock");
    this.#lastFrom = fromLocal ? "local" : "stock";
    if (fromLocal) return this.#local.shift();
    const [first] = this.#stock;
    if (first !== undefined) this.#stock.delete(first);
    return first;
  }
}
