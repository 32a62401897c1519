/** Chooses the card of each simulated call, with the product's own rules. */
import type { DispatchTarget } from "../../../common/hexgen/dispatch.ts";
import {
  chooseAsPublished,
  chooseByCompletion,
  chooseByWorkBalance,
} from "../../../common/hexgen/dispatch.ts";
import { impossible } from "../../../common/exhaustive.ts";
import type { PoolCard, SimulatedPolicy } from "./scenario.ts";

/** A card as dispatch sees it; the simulation keeps it current. */
export interface SimulatedTarget extends DispatchTarget {
  readonly gpu: string;
  serviceUs: number;
  outstandingUs: number;
  /** All work ever dispatched here; what the published rule looks at. */
  cumulativeUs: number;
}

export class Dispatcher {
  readonly targets: readonly SimulatedTarget[];
  readonly #policy: SimulatedPolicy;
  #dispatched = 0;

  constructor(pool: readonly PoolCard[], policy: SimulatedPolicy) {
    this.#policy = policy;
    this.targets = pool.map(({ name }, ordinal) => ({
      ordinal,
      // A profile each: what a card has cached makes its times its own.
      profile: ordinal,
      gpu: name,
      canTake: true,
      serviceUs: 0,
      outstandingUs: 0,
      cumulativeUs: 0,
    }));
  }

  /** Chooses for a call of those service times and books it there. */
  dispatch(serviceUsOf: (ordinal: number) => number): SimulatedTarget {
    for (const target of this.targets) target.serviceUs = serviceUsOf(target.ordinal);
    const chosen = this.#choose();
    if (chosen === undefined) throw new RangeError("a pool without cards cannot serve");
    chosen.outstandingUs += chosen.serviceUs;
    chosen.cumulativeUs += chosen.serviceUs;
    this.#dispatched += 1;
    return chosen;
  }

  ended(ordinal: number, bookedUs: number): void {
    const target = this.targets[ordinal];
    if (target !== undefined) target.outstandingUs -= bookedUs;
  }

  #choose(): SimulatedTarget | undefined {
    const { dispatch, alpha } = this.#policy;
    switch (dispatch) {
      case "rr":
        return this.targets[this.#dispatched % this.targets.length];
      case "wb":
        return chooseByWorkBalance(this.targets, alpha);
      case "ect":
        return chooseByCompletion(this.targets);
      case "repo":
        return chooseAsPublished(this.targets, alpha);
      default:
        return impossible(dispatch);
    }
  }
}
