/**
 * What other cells are to one request: whether it came from one, may go to one, and what of it is
 * theirs. A request of a platform without cells has `NO_CELLS`, which costs nothing.
 */
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import type { WireReasonName } from "../../common/contracts/wire-reasons.ts";
import type { Attempt, AttemptEnd, Exchange, RequestHead } from "../../proxy/types.ts";
import type { WaitClock } from "../core/deadlines.ts";
import type { CarriedRank, HopVerdict } from "../core/hop.ts";
import type { RequestFacts } from "../core/retry.ts";
import type { RequestTimer } from "../core/request-timer.ts";
import type { RevisionEntry } from "../revision-entry.ts";
import type { Look, Refusal } from "../ticket.ts";
import type { IncomingHop } from "./incoming-hop.ts";
import { Outgoing } from "./outgoing.ts";
import type { SpillDesk } from "./spill-desk.ts";

/** What a request gives away when it leaves for another cell. */
export interface Leaving {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly forwarded: readonly string[];
  readonly timer: RequestTimer;
  readonly now: () => number;
  readonly facts: () => RequestFacts;
  readonly onAnswer: (status: number, reason: string) => void;
  readonly onEnd: (verdict: HopVerdict, end: AttemptEnd) => void;
  readonly wrap: (attempt: Attempt) => Attempt;
}

/** Limits that end a request wherever it is; anything else is one cell's own trouble. */
const FINAL_REASONS: ReadonlySet<WireReasonName> = new Set<WireReasonName>([
  "queue_timeout",
  "activation_timeout",
  "response_start_timeout",
  "response_timeout",
  "upstream_reset",
  "container_exited",
  "bad_response",
  "terminated",
]);

export class CellCall {
  readonly #desk: SpillDesk | undefined;
  readonly #hop: IncomingHop | undefined;
  readonly #outgoing: Outgoing | undefined;

  constructor(desk?: SpillDesk, hop?: IncomingHop, outgoing?: Outgoing) {
    this.#desk = desk;
    this.#hop = hop;
    this.#outgoing = outgoing;
  }

  /** Its caller was let in by the cell where it entered. */
  get isLetIn(): boolean {
    return this.#hop !== undefined;
  }

  /** A free slot or nothing. */
  get onlyFree(): boolean {
    return this.#hop?.onlyFree ?? false;
  }

  /** Why the service may not run in this cell at all. */
  check(config: RevisionConfig): Refusal | null {
    const message = this.#desk?.whyNotHere(config) ?? "";
    if (message === "") return null;
    return this.#hop === undefined
      ? { reason: "no_capacity", message }
      : { reason: "spill_refused" };
  }

  looksElsewhere(clock: WaitClock, at: number): Look {
    return this.#outgoing?.look(clock, at) ?? "while";
  }

  prefersElsewhere(clock: WaitClock, at: number): boolean {
    return this.#outgoing?.find(clock, at) ?? false;
  }

  /** A slot stands here: calls when the request is this cell's for good. */
  commit(exchange: Exchange, onCommitted: () => void): void {
    if (this.#hop === undefined) onCommitted();
    else this.#hop.commit(exchange, onCommitted);
  }

  framed(attempt: Attempt): Attempt {
    return this.#hop?.framed(attempt) ?? attempt;
  }

  /**
   * To another cell a refusal of ours is one word, after which it takes its next choice; but not
   * once a container may have seen the request, in `delivered` attempts here.
   */
  reasonFor(reason: WireReasonName, delivered: number): WireReasonName {
    if (this.#hop === undefined || FINAL_REASONS.has(reason)) return reason;
    return delivered > 0 ? "upstream_reset" : "spill_refused";
  }

  /** What the choice was made of, for `Server-Timing`; empty when none was made. */
  get timing(): string {
    return this.#outgoing?.timing ?? "";
  }

  /** False: there is nowhere to go any more. */
  start({ timer, now, wrap, ...request }: Leaving): boolean {
    if (this.#outgoing === undefined) return false;
    timer.granted(now());
    return this.#outgoing.start({ ...request, onConnected: () => timer.connected(now()) }, wrap);
  }
}

const NO_CELLS = new CellCall();

export function cellCallOf(
  desk: SpillDesk | undefined,
  { hop, entry }: { readonly hop?: IncomingHop; readonly entry: RevisionEntry },
  rank: { carried(): CarriedRank },
): CellCall {
  if (hop !== undefined) return new CellCall(desk, hop);
  // One hop at most: only what entered here may leave.
  return desk === undefined ? NO_CELLS : new CellCall(desk, hop, new Outgoing(desk, entry, rank));
}
