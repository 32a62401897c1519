/**
 * The rank of one request, or that it has none: prepared once before its first acquire, then told
 * to store, sidecar and caller. A plain request passes through here untouched.
 */
import type { RevisionConfig } from "../common/contracts/routing.ts";
import type { RequestHead } from "../proxy/types.ts";
import type { CarriedRank } from "./core/hop.ts";
import { NO_RANK } from "./core/hop.ts";
import type { NamedSession } from "./core/session.ts";
import { sessionOf } from "./core/session.ts";
import type { RequestTimer } from "./core/request-timer.ts";
import type { CallDetails, Lease } from "../store/types.ts";
import type { CallArrival, CallDesk } from "./call-desk.ts";
import type { RankedCall } from "./ranked-call.ts";

export class CallRank {
  readonly #desk: CallDesk | null;
  #ranked: RankedCall | undefined;
  #session: NamedSession | undefined;
  #isOver = false;

  constructor(desk: CallDesk | null) {
    this.#desk = desk;
  }

  prepare(
    request: Omit<CallArrival, "head" | "config">,
    head: RequestHead,
    config: RevisionConfig,
  ): null | Promise<null> {
    this.#session = sessionOf(config, request.caller);
    if (this.#ranked !== undefined || this.#desk?.concerns(request, config) !== true) return null;
    return this.#desk.prepare({ ...request, head, config }).then((ranked) => {
      // A caller that left meanwhile keeps no place in its workflow.
      if (this.#isOver) ranked?.ended({ status: 0, queueMs: 0, serviceMs: 0 });
      else this.#ranked = ranked ?? undefined;
      return null;
    });
  }

  get details(): CallDetails | undefined {
    const details = this.#ranked?.details;
    return this.#session === undefined ? details : { ...details, session: this.#session };
  }

  /** Its pod stands in this cell. */
  get staysHere(): boolean {
    return this.#session?.affinity === "strict";
  }

  carried(): CarriedRank {
    return this.#ranked?.carried() ?? NO_RANK;
  }

  rejectAfterMs(arrivedAtUs: number): number {
    return this.#ranked?.rejectAfterMs(arrivedAtUs) ?? Infinity;
  }

  attemptHeaders(headers: readonly string[], lease: Lease): readonly string[] {
    return this.#ranked?.attemptHeaders(headers, lease) ?? headers;
  }

  answerHeaders(wantsDebug: boolean, timer: RequestTimer): readonly string[] {
    return this.#ranked?.answerHeaders(wantsDebug, timer.times().queueMs) ?? [];
  }

  ended(status: number, timer: RequestTimer, now: number): void {
    this.#isOver = true;
    if (this.#ranked === undefined) return;
    const serviceMs = timer.grantedAt > 0 ? now - timer.grantedAt : 0;
    this.#ranked.ended({ status, queueMs: timer.times().queueMs, serviceMs });
  }
}
