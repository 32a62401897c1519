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
import type { Lease } from "../store/types.ts";
import type { WaitClock } from "./core/deadlines.ts";
import type { RevisionEntry } from "./revision-entry.ts";

export type TicketState = "unconfigured" | "asking" | "waiting" | "granted" | "abandoned";

export type Refusal =
  | { readonly reason: "queue_full"; readonly retryAfterMs: number }
  | { readonly reason: "queue_timeout" | "activation_timeout" | "store_unavailable" }
  /** Its service was removed while it waited for the revision to become known. */
  | { readonly reason: "no_such_service" }
  | { readonly reason: "unauthenticated" | "forbidden"; readonly message: string }
  | { readonly reason: "activation_failed"; readonly failure: ActivationFailure };

/** Who asked; called exactly once, unless the ticket is cancelled. */
export interface TicketHolder {
  /** Why its caller may not use the service, null when it may; asked once, before the store is. */
  admit(config: RevisionConfig): Refusal | null | Promise<Refusal | null>;
  granted(lease: Lease): void;
  refused(refusal: Refusal): void;
}

export interface HoldRequest {
  readonly entry: RevisionEntry;
  readonly holder: TicketHolder;
  readonly clock: WaitClock;
  readonly exclude: readonly string[];
  readonly arrivedAt: number;
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
  state: TicketState = "unconfigured";
  /** Server time in us of the arrival; kept over reroutes, so that the place in the queue is. */
  arrivedAt: number;
  /** Fires at the limit of the present phase. */
  timer: NodeJS.Timeout | undefined;
  /** Fires when a failed call is to be repeated. */
  retryTimer: NodeJS.Timeout | undefined;
  /** Its caller may use the service. */
  admitted = false;
  /** No slot was free at once. */
  hasWaited = false;
  /** A call that may end the ticket is under way. */
  leaving = false;
  /** When to ask for a lost assignment, and the pause after that. */
  askAt = 0;
  askPauseMs = 0;
  /** Failed calls in a row, for the pause before the next. */
  failures = 0;

  get isOpen(): boolean {
    return this.state !== "granted" && this.state !== "abandoned";
  }

  constructor(options: {
    readonly entry: RevisionEntry;
    readonly leaseId: string;
    readonly holder: TicketHolder;
    readonly clock: WaitClock;
    readonly exclude: readonly string[];
    readonly arrivedAt: number;
  }) {
    this.entry = options.entry;
    this.leaseId = options.leaseId;
    this.holder = options.holder;
    this.clock = options.clock;
    this.exclude = options.exclude;
    this.arrivedAt = options.arrivedAt;
  }
}
