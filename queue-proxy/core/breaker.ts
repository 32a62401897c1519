/**
 * How many requests the container works on at once. Requests with a lease are never queued here
 * (another pod may be free) unless early binding asks for a local queue; requests that came another
 * way wait as in stock Knative, up to ten times the limit.
 */
import { EngineRoom } from "./engine-room.ts";
import type { QueuedCall } from "./local-queue.ts";
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
  readonly #now: () => number;
  readonly engine = new EngineRoom();
  #active = 0;
  #occupied = 0;
  #localDepth = 0;
  #stock = new Set<Entrant>();
  #local = new LocalQueue<Entrant>();
  #lastFrom: "local" | "stock" = "stock";

  /** `limit` 0 means no limit. */
  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  /** Requests that hold a slot. */
  get active(): number {
    return this.#active;
  }

  get waiting(): number {
    return this.#stock.size + this.#local.size;
  }

  get localWaiting(): number {
    return this.#local.size;
  }

  /** Sum of the expected times of what waits under early binding. */
  get localWorkUs(): number {
    return this.#local.workUs;
  }

  /** Calls may wait here, so it says nothing of others that the engine's cache is full now. */
  get holdsCalls(): boolean {
    return this.#localDepth > 0;
  }

  /** Slots that the container keeps busy for callers that left. */
  setOccupied(count: number): void {
    this.#occupied = count;
    this.startWaiting();
  }

  /** Live values of the local queue; what already waits stays. */
  setLocal(depth: number, starvationLimitMs: number): void {
    this.#localDepth = depth;
    this.#local.setStarvationLimit(starvationLimitMs);
  }

  /** A request whose slot the activator reserved. */
  admitLeased(entrant: Entrant, call: QueuedCall): Admission {
    if (this.#mayStartNow(call) && this.#start(entrant)) return "started";
    if (this.#local.size >= this.#localDepth) return "full";
    this.#local.push(call, entrant, this.#now());
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
    this.startWaiting();
  }

  /** To be called whenever the container may have room again, and now and then while some wait. */
  startWaiting(): void {
    while (this.waiting > 0 && this.#hasRoom()) {
      const next = this.#next();
      if (next === undefined) return;
      this.#active += 1;
      next.start();
    }
  }

  /** Under late binding a reserved slot is free; under early binding nobody may be passed by. */
  #mayStartNow(call: QueuedCall): boolean {
    if (this.#localDepth === 0) return true;
    return this.#local.size === 0 && this.engine.takes(call.note?.promptTokens ?? 0);
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

  /** The two queues take turns, so that neither starves the other. */
  #next(): Entrant | undefined {
    const localFirst = this.#stock.size === 0 || this.#lastFrom === "stock";
    const next = localFirst
      ? (this.#nextLocal() ?? this.#nextStock())
      : (this.#nextStock() ?? this.#nextLocal());
    return next;
  }

  #nextLocal(): Entrant | undefined {
    if (this.#local.size === 0) return undefined;
    const next = this.#local.shift(this.#now(), (promptTokens) => this.engine.takes(promptTokens));
    if (next !== undefined) this.#lastFrom = "local";
    return next;
  }

  #nextStock(): Entrant | undefined {
    const [first] = this.#stock;
    if (first === undefined) return undefined;
    this.#stock.delete(first);
    this.#lastFrom = "stock";
    return first;
  }
}
