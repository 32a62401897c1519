/** Chooses the card of each simulated call, with the product's own rules, and keeps the books. */
import type { BatchTarget } from "../../../common/hexgen/batch-dispatch.ts";
import { chooseForBatch } from "../../../common/hexgen/batch-dispatch.ts";
import type { DispatchTarget, PublishedTarget } from "../../../common/hexgen/dispatch.ts";
import {
  chooseAsPublished,
  chooseByCompletion,
  chooseByWorkBalance,
} from "../../../common/hexgen/dispatch.ts";
import { impossible } from "../../../common/exhaustive.ts";
import type { SimulatedCall } from "./engine.ts";
import type { Estimates } from "./estimates.ts";
import type { PoolCard, SimulatedPolicy } from "./scenario.ts";
import type { StageTimes } from "./stage-times.ts";

/** A card as dispatch sees it. */
export interface SimulatedTarget extends DispatchTarget, BatchTarget, PublishedTarget {
  readonly ordinal: number;
  readonly canTake: boolean;
  serviceUs: number;
  engineUs: number;
  outstandingUs: number;
  loadUs: number;
  /** All work ever dispatched here; what the published rule looks at. */
  cumulativeUs: number;
}

export class Dispatcher {
  readonly #targets: readonly SimulatedTarget[];
  /** Those that are up. */
  #ready: readonly SimulatedTarget[];
  readonly #policy: SimulatedPolicy;
  readonly #estimates: Estimates;
  #dispatched = 0;

  constructor(pool: readonly PoolCard[], policy: SimulatedPolicy, estimates: Estimates) {
    this.#policy = policy;
    this.#estimates = estimates;
    this.#targets = pool.map(({ name }, ordinal) => ({
      ordinal,
      // A profile each: what a card has cached makes its times its own.
      profile: ordinal,
      gpu: name,
      canTake: true,
      meanLogSpeed: estimates.meanLogSpeeds[ordinal] ?? 0,
      serviceUs: 0,
      engineUs: 0,
      outstandingUs: 0,
      loadUs: 0,
      cumulativeUs: 0,
    }));
    this.#ready = this.#targets;
  }

  /** The card for a call, estimates filled in; `undefined` when none is up. */
  choose(times: StageTimes, workflow: number, errorFactor: number): SimulatedTarget | undefined {
    this.#estimates.fill(times, workflow, this.#targets);
    if (errorFactor !== 1) {
      for (const target of this.#targets) {
        target.serviceUs = Math.max(Math.round(target.serviceUs * errorFactor), 1);
        target.engineUs = Math.max(Math.round(target.engineUs * errorFactor), 1);
      }
    }
    const chosen = this.#choose();
    if (chosen !== undefined) this.#dispatched += 1;
    return chosen;
  }

  book(target: SimulatedTarget, call: SimulatedCall): void {
    call.bookedUs = target.serviceUs;
    call.bookedEngineUs = target.engineUs;
    target.outstandingUs += call.bookedUs;
    target.loadUs += call.bookedEngineUs;
    target.cumulativeUs += call.bookedUs;
  }

  unbook(ordinal: number, call: SimulatedCall): void {
    const target = this.#targets[ordinal];
    if (target === undefined) return;
    target.outstandingUs -= call.bookedUs;
    target.loadUs -= call.bookedEngineUs;
  }

  /** Engine time dispatched to a card and not ended. */
  loadUs(ordinal: number): number {
    return this.#targets[ordinal]?.loadUs ?? 0;
  }

  /** Moves what a waiting call counts to another card. */
  rebook(call: SimulatedCall, from: number, to: number): void {
    const times = this.#estimates.table.at(call.stageIndex);
    const target = this.#targets[to];
    if (times === undefined || target === undefined) return;
    this.unbook(from, call);
    this.#estimates.fill(times, call.workflow, this.#targets);
    this.book(target, call);
  }

  setReady(isReady: (ordinal: number) => boolean): void {
    this.#ready = this.#targets.filter((target) => isReady(target.ordinal));
  }

  #choose(): SimulatedTarget | undefined {
    const { dispatch, alpha } = this.#policy;
    switch (dispatch) {
      case "rr":
        return this.#ready[this.#dispatched % this.#ready.length];
      case "wb":
        return chooseByWorkBalance(this.#ready, alpha);
      case "ect":
        return chooseByCompletion(this.#ready);
      case "repo":
        return chooseAsPublished(this.#ready, alpha);
      case "batch":
        return chooseForBatch(this.#ready, alpha, this.#estimates.wayUs);
      default:
        return impossible(dispatch);
    }
  }
}
