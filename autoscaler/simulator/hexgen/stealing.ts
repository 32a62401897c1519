/**
 * What stealing among engines would gain, for comparison only (variant `stealing`): a card on which
 * nothing waits takes over a call that waits at another one and fits here, instead of decoding with
 * a batch that has room. In the product an idle pod is offered calls that wait beyond the slots of
 * another; which calls wait for room in a cache, only their sidecars know.
 */
import type { Dispatcher } from "./dispatcher.ts";
import type { EngineParts, SimulatedCall } from "./engine.ts";
import type { Estimates } from "./estimates.ts";

interface Found {
  readonly call: SimulatedCall;
  readonly from: number;
  /** Engine time here over engine time there: what the thief is comparatively good at goes first. */
  readonly disadvantage: number;
}

export class Stealing {
  readonly #cards: EngineParts[] = [];
  readonly #dispatcher: Dispatcher;
  readonly #estimates: Estimates;

  constructor(dispatcher: Dispatcher, estimates: Estimates) {
    this.#dispatcher = dispatcher;
    this.#estimates = estimates;
  }

  /** Cards join in the order of the pool. */
  join(parts: EngineParts): void {
    this.#cards.push(parts);
  }

  /** Moves the best call to the queue of the thief, booked there; `undefined` when none gains. */
  steal(thief: number, fits: (call: SimulatedCall) => boolean): SimulatedCall | undefined {
    const best = this.#best(thief, fits);
    if (best === undefined) return undefined;
    this.#cards[best.from]?.queue.remove(best.call);
    this.#dispatcher.rebook(best.call, best.from, thief);
    this.#cards[thief]?.queue.push(best.call);
    return best.call;
  }

  #best(thief: number, fits: (call: SimulatedCall) => boolean): Found | undefined {
    let best: Found | undefined;
    for (const [from, { queue }] of this.#cards.entries()) {
      for (const call of from === thief ? [] : queue) {
        const found = fits(call) ? this.#judge(call, from, thief) : undefined;
        if (found !== undefined && (best === undefined || isBetter(found, best))) best = found;
      }
    }
    return best;
  }

  /** It gains when the thief would be through with it before the other card comes to it. */
  #judge(call: SimulatedCall, from: number, thief: number): Found | undefined {
    const times = this.#estimates.table.at(call.stageIndex);
    const here = times?.engineUs[thief] ?? Infinity;
    const there = times?.engineUs[from] ?? 0;
    const gain = this.#dispatcher.loadUs(from) - this.#dispatcher.loadUs(thief) - here;
    return gain < 0 ? undefined : { call, from, disadvantage: here / there };
  }
}

function isBetter(left: Found, right: Found): boolean {
  if (left.disadvantage !== right.disadvantage) return left.disadvantage < right.disadvantage;
  return left.call.key < right.call.key;
}
