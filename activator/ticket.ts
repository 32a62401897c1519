/**
 * One request that asks for a slot, from the first call to the store until it has a lease or is
 * refused. State machine, changed only by `hold.ts`:
 *
 *   unconfigured ──configuration arrives──► asking ──reply waiting──► waiting ──assigned──► granted
 *        ▲                                   │ ▲ └──reply leased, or assigned before it──► granted
 *        └──────── unknown revision ─────────┘ └── store silent, or lost the ticket: asked again
 *   any ──limit, queue full, caller gone, activation failed──► abandoned
 *
 * A reply that comes late to an abandoned ticket is given back to the store.
 */
import type { ActivationFailure, RevisionConfig } from "../common/contracts/routing.ts";
import type { LateTimer } from "../proxy/late-timers.ts";
import type { CallDetails, Lease } from "../store/types.ts";
import type { WaitClock } from "./core/deadlines.ts";
import type { RevisionEntry } from "./revision-entry.ts";

export type TicketState = "unconfigured" | "asking" | "waiting" | "granted" | "abandoned";

export type Refusal =
  | { readonly reason: "queue_full"; readonly retryAfterMs: number }
  | { readonly reason: "queue_timeout" | "activation_timeout" | "store_unavailable" }
  /** It asked not to be served too late. */
  | { readonly reason: "deadline_unreachable" }
  /** Strict affinity, and the pod of its session is gone. */
  | { readonly reason: "session_lost" }
  /** Its service was removed while it waited for the revision to become known. */
  | { readonly reason: "no_such_service" }
  | { readonly reason: "spill_refused" }
  | { readonly reason: "no_capacity"; readonly message: string }
  | { readonly reason: "unauthenticated" | "forbidden"; readonly message: string }
  | { readonly reason: "activation_failed"; readonly failure: ActivationFailure };

/** `elsewhere` is no end: a request left the queue here, for the cell that its holder prefers. */
export type Parting = Refusal | "elsewhere";

/**
 * When a request looks at other cells: `now`, since nothing runs here and it knows where to go; once
 * no slot is free here, `before` it waits or while it waits; the last also where there are none.
 */
export type Look = "now" | "before" | "while";

/** Who asked; `granted` or `refused` is called exactly once, unless the ticket is cancelled. */
export interface TicketHolder {
  /** Why its caller may not use the service, null when it may; asked once, before the store is. */
  admit(config: RevisionConfig): Refusal | null | Promise<Refusal | null>;
  /** Asked after `admit`. */
  readonly rank?: TicketRank;
  granted(lease: Lease): void;
  refused(refusal: Refusal): void;
  /** Asked before the store is. */
  looksElsewhere?(): Look;
  /** Asked when no slot is free here; true: it leaves the queue, unless a slot comes first. */
  prefersElsewhere?(): boolean;
  /** It has left for where it prefers to be. */
  left?(): void;
}

export interface TicketRank {
  /** How the store ranks and weighs the call; undefined for a plain request. */
  readonly details: CallDetails | undefined;
  /** After that time in the store it wants to be refused, since its answer would come too late. */
  rejectAfterMs(arrivedAtUs: number): number;
  /** Its pod stands in this cell: no other one is any use to it. */
  readonly staysHere?: boolean;
}

export interface HoldRequest {
  readonly entry: RevisionEntry;
  readonly holder: TicketHolder;
  readonly clock: WaitClock;
  readonly exclude: readonly string[];
  readonly arrivedAt: number;
  /** A free slot or nothing: the request does not wait here. */
  readonly onlyFree?: boolean;
  /** Before the store is asked; for a target that fails again and again. */
  readonly pauseMs: number;
}

export class Ticket {
  readonly entry: RevisionEntry;
  /** A new one after a call that failed: the old one may be withdrawn later. */
  leaseId: string;
  readonly holder: TicketHolder;
  readonly clock: WaitClock;
  /** Targets that this request failed on; emptied when no other is free. */
  exclude: readonly string[];
  /** A free slot or nothing. */
  readonly onlyFree: boolean;
  state: TicketState = "unconfigured";
  /** Server time in us of the arrival; kept over reroutes, so that the place in the queue is. */
  arrivedAt: number;
  /** Fires at the limit of the present phase. */
  timer: LateTimer | undefined;
  /** Fires when a failed call is to be repeated. */
  retryTimer: NodeJS.Timeout | undefined;
  /** Its caller may use the service. */
  admitted = false;
  /** It looks elsewhere before it waits, and has not done so yet. */
  looksFirst = false;
  /** No slot was free at once. */
  hasWaited = false;
  /** A call that may end the ticket is under way. */
  leaving = false;
  /** Fires when its answer would come too late for a caller that asked to be refused then. */
  rejectTimer: NodeJS.Timeout | undefined;
  /** When to ask for a lost assignment, and the pause after that. */
  askAt = 0;
  askPauseMs = 0;
  /** Failed calls in a row, for the pause before the next. */
  failures = 0;

  get isOpen(): boolean {
    return this.state !== "granted" && this.state !== "abandoned";
  }

  looksElsewhere(): Look {
    return this.#staysHere() ? "while" : (this.holder.looksElsewhere?.() ?? "while");
  }

  prefersElsewhere(): boolean {
    return !this.#staysHere() && this.holder.prefersElsewhere?.() === true;
  }

  #staysHere(): boolean {
    return this.holder.rank?.staysHere === true;
  }

  constructor(request: Omit<HoldRequest, "pauseMs">, leaseId: string) {
    this.entry = request.entry;
    this.leaseId = leaseId;
    this.holder = request.holder;
    this.clock = request.clock;
    this.exclude = request.exclude;
    this.arrivedAt = request.arrivedAt;
    this.onlyFree = request.onlyFree ?? false;
  }
}
