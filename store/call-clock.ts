/**
 * Ends calls that get no answer in time, with one timer for all of them: the client's own way, a timer
 * per call, costs as much as reading the reply. All calls of a client have the same time, so they
 * stand in the order of their ends.
 */
import { ChurnList, ListEntry } from "../common/churn-list.ts";

/** What the clock needs of a command. */
export interface TimedCall {
  readonly isSettled: boolean;
  reject(error: Error): void;
}

class OpenCall extends ListEntry {
  readonly call: TimedCall;
  /** By `performance.now()`. */
  readonly endsAt: number;

  constructor(call: TimedCall, endsAt: number) {
    super();
    this.call = call;
    this.endsAt = endsAt;
  }
}

export class CallClock {
  readonly #calls = new ChurnList<OpenCall>();
  #timer: NodeJS.Timeout | undefined;

  /** Calls that are looked after; those with an answer go with the next one that comes. */
  get size(): number {
    return this.#calls.size;
  }

  begin(call: TimedCall, limitMs: number): void {
    this.#dropSettled();
    this.#calls.add(new OpenCall(call, performance.now() + limitMs));
    if (this.#timer === undefined) this.#arm(limitMs);
  }

  /** It ends by itself when it finds no call; a call that waits has a connection. */
  #arm(ms: number): void {
    this.#timer = setTimeout(this.#onRing, ms).unref();
  }

  #dropSettled(): void {
    for (const open of this.#calls) {
      if (!open.call.isSettled) return;
      this.#calls.remove(open);
    }
  }

  readonly #onRing = (): void => {
    this.#timer = undefined;
    const now = performance.now();
    for (const open of this.#calls) {
      if (!open.call.isSettled && open.endsAt > now) {
        return this.#arm(Math.ceil(open.endsAt - now));
      }
      this.#calls.remove(open);
      // In the words of the client, which say that the store is away.
      if (!open.call.isSettled) open.call.reject(new Error("Command timed out"));
    }
  };
}
