/**
 * The requests of this activator that ask for a slot. The connection is held here, the order of
 * all waiting requests in the store; assignments come by a message, with a question to the store
 * as the fallback for a lost one. Nothing polls for slots.
 */
import type { Assignment } from "../common/contracts/channels.ts";
import { LateTimer, LateTimers } from "../proxy/late-timers.ts";
import type { AcquireResult, AskResult, Lease } from "../store/types.ts";
import { askForSlot } from "./ask-for-slot.ts";
import type { HoldOptions } from "./ask-for-slot.ts";
import { timeoutReason } from "./core/deadlines.ts";
import { leaseOf } from "./lease-of.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { HoldRequest, Parting, Refusal } from "./ticket.ts";
import { Ticket } from "./ticket.ts";
import { armRejection, leaveQueue, ticketsToAsk } from "./waiting-tickets.ts";

/** Longest wait of a request for a revision whose configuration never came: no limit is known. */
const UNCONFIGURED_WAIT_MS = 60_000;
const FIRST_ASK_MS = 1_000;
/** A message is lost only with its connection, and then all are asked at once. */
const MAX_ASK_PAUSE_MS = 8_000;
const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 500;

export class Hold {
  readonly #options: HoldOptions;
  readonly #limits = new LateTimers();

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  acquire(request: HoldRequest): Ticket {
    const ticket = new Ticket(request, this.#options.nextLeaseId());
    ticket.clock.enter("waiting", this.#options.clock.now());
    ticket.entry.tickets.set(ticket.leaseId, ticket);
    this.#armLimit(ticket);
    if (request.pauseMs > 0) this.#sendLater(ticket, request.pauseMs);
    else this.#send(ticket);
    return ticket;
  }

  /** The caller left. A call under way is undone when it answers. */
  cancel(ticket: Ticket): void {
    if (!ticket.isOpen) return;
    const wasWaiting = ticket.state === "waiting";
    this.#abandon(ticket);
    if (wasWaiting) this.#options.returns.withdraw(ticket.entry, ticket.leaseId);
  }

  /** A slot was reserved for one of our requests, perhaps before the reply that it must wait. */
  assigned(entry: RevisionEntry | undefined, assignment: Assignment): void {
    if (entry === undefined) return;
    const { leaseId } = assignment;
    const ticket = entry.tickets.get(leaseId);
    if (ticket !== undefined) {
      this.#grant(ticket, leaseOf(assignment));
    } else if (!entry.leases.has(leaseId)) {
      this.#options.returns.withdraw(entry, leaseId);
    }
  }

  /** The configuration came, or changed. */
  configured(entry: RevisionEntry): void {
    for (const ticket of entry.tickets.values()) {
      if (ticket.state === "waiting") {
        this.#failIfHopeless(ticket);
      } else if (ticket.state === "unconfigured") {
        this.#armLimit(ticket);
        this.#send(ticket);
      }
    }
  }

  /** Nobody knows the revision any more, and no route leads to it: its service was removed. */
  removed(entry: RevisionEntry): void {
    for (const ticket of entry.tickets.values()) {
      const isHeld = ticket.state === "unconfigured" || ticket.state === "waiting";
      if (isHeld) this.#refuse(ticket, { reason: "no_such_service" });
    }
  }

  /** Without a store: gives free slots on pods of our own to those who wait here, eldest first. */
  serveLocally(entry: RevisionEntry): void {
    for (const ticket of entry.tickets.values()) {
      if (ticket.state !== "waiting") continue;
      const lease = this.#options.degraded.take(ticket);
      if (lease === null) return;
      this.#grant(ticket, lease);
    }
  }

  /** Another cell may serve a waiting request sooner: its place here is given up for that one. */
  reconsider(ticket: Ticket): void {
    if (ticket.leaving || ticket.state !== "waiting") return;
    if (!ticket.prefersElsewhere()) return;
    const { entry } = ticket;
    if (this.#options.degraded.has(entry)) this.#refuse(ticket, "elsewhere");
    else this.#giveUp(ticket, "elsewhere");
  }

  /** Asks for tickets whose message may be lost; one answer also tells the phase of all. */
  askDue(entry: RevisionEntry): void {
    if (this.#options.degraded.has(entry)) return;
    for (const ticket of ticketsToAsk(entry, this.#options.clock.now())) this.#ask(ticket);
  }

  /** After a resubscription: whatever was published meanwhile is lost. */
  askAll(entry: RevisionEntry): void {
    for (const ticket of entry.tickets.values()) {
      if (ticket.state === "waiting") this.#ask(ticket);
    }
  }

  /** Asks for a slot, once its caller is known to be allowed one. */
  #send(ticket: Ticket): void {
    if (!ticket.admitted) return this.#admit(ticket);
    if (this.#options.degraded.has(ticket.entry)) return this.#sendLocally(ticket);
    const look = ticket.looksElsewhere();
    ticket.state = "asking";
    // Behind the return to whoever asked: the request may come back at once.
    if (look === "now") return queueMicrotask(() => this.#refuse(ticket, "elsewhere"));
    ticket.looksFirst = look === "before";
    this.#askStore(ticket);
  }

  #askStore(ticket: Ticket): void {
    askForSlot(this.#options, ticket).then(
      (result) => this.#replied(ticket, result),
      () => this.#failed(ticket),
    );
  }

  #admit(ticket: Ticket): void {
    const { config } = ticket.entry;
    if (config === null) {
      ticket.state = "unconfigured";
      return this.#options.load(ticket.entry);
    }
    ticket.state = "asking";
    const refusal = ticket.holder.admit(config);
    if (!(refusal instanceof Promise)) return this.#admitted(ticket, refusal);
    void refusal.then((found) => this.#admitted(ticket, found));
  }

  #admitted(ticket: Ticket, refusal: Refusal | null): void {
    if (!ticket.isOpen) return;
    if (refusal !== null) return this.#refuse(ticket, refusal);
    ticket.admitted = true;
    this.#send(ticket);
  }

  #sendLocally(ticket: Ticket): void {
    const lease = this.#options.degraded.take(ticket);
    if (lease !== null) return this.#grant(ticket, lease);
    if (ticket.onlyFree) return this.#refuse(ticket, { reason: "spill_refused" });
    ticket.state = "waiting";
    ticket.hasWaited = true;
    if (ticket.entry.tickets.size > (ticket.entry.config?.queueDepth ?? 0)) this.#full(ticket, 0);
    else this.reconsider(ticket);
  }

  #full(ticket: Ticket, retryAfterMs: number): void {
    const leaves = ticket.prefersElsewhere();
    this.#refuse(ticket, leaves ? "elsewhere" : { reason: "queue_full", retryAfterMs });
  }

  #replied(ticket: Ticket, result: AcquireResult): void {
    if (ticket.state === "granted") return;
    if (ticket.state === "abandoned") {
      const isHeld = result.kind === "leased" || result.kind === "waiting";
      if (isHeld) this.#options.returns.withdraw(ticket.entry, ticket.leaseId);
      return undefined;
    }
    ticket.failures = 0;
    return this.#settle(ticket, result);
  }

  #settle(ticket: Ticket, result: AcquireResult): void {
    switch (result.kind) {
      case "leased":
        return this.#grant(ticket, result.lease);
      case "waiting":
        this.#wait(ticket, result);
        return this.reconsider(ticket);
      case "queue-full":
        return this.#full(ticket, result.retryAfterMs);
      case "deadline-unreachable":
        return this.#refuse(ticket, { reason: "deadline_unreachable" });
      case "session-lost":
        return this.#refuse(ticket, { reason: "session_lost" });
      case "no-slot":
        return this.#noSlot(ticket);
      case "unknown-revision":
        ticket.state = "unconfigured";
        return this.#options.load(ticket.entry);
    }
  }

  #noSlot(ticket: Ticket): void {
    if (ticket.onlyFree) return this.#refuse(ticket, { reason: "spill_refused" });
    const leaves = ticket.looksFirst && ticket.prefersElsewhere();
    if (leaves) return this.#refuse(ticket, "elsewhere");
    ticket.exclude = [];
    ticket.looksFirst = false;
    this.#askStore(ticket);
  }

  #wait(
    ticket: Ticket,
    result: { readonly arrivedAt: number; readonly readyTargets: number },
  ): void {
    ticket.state = "waiting";
    ticket.hasWaited = true;
    ticket.arrivedAt = result.arrivedAt;
    ticket.askPauseMs = FIRST_ASK_MS;
    ticket.askAt = this.#options.clock.now() + FIRST_ASK_MS;
    armRejection(ticket, () => this.#giveUp(ticket, { reason: "deadline_unreachable" }));
    this.#enterPhase(ticket, result.readyTargets);
    this.#failIfHopeless(ticket);
  }

  #enterPhase(ticket: Ticket, readyTargets: number): void {
    const phase = readyTargets > 0 ? "waiting" : "starting";
    if (ticket.clock.phase === phase) return;
    ticket.clock.enter(phase, this.#options.clock.now());
    this.#armLimit(ticket);
    this.#failIfHopeless(ticket);
  }

  /** No pod of the revision can start: whoever waits for the first one learns why. */
  #failIfHopeless(ticket: Ticket): void {
    const failure = ticket.entry.config?.failure ?? null;
    if (failure === null || ticket.clock.phase !== "starting") return;
    this.#giveUp(ticket, { reason: "activation_failed", failure });
  }

  #armLimit(ticket: Ticket): void {
    const { config } = ticket.entry;
    const now = this.#options.clock.now();
    const leftMs =
      config === null ? UNCONFIGURED_WAIT_MS : Math.max(0, ticket.clock.remainingMs(config, now));
    ticket.timer ??= new LateTimer(() => this.#limitReached(ticket));
    this.#limits.set(ticket.timer, leftMs);
  }

  #limitReached(ticket: Ticket): void {
    if (!ticket.isOpen) return;
    if (ticket.state === "waiting" && !this.#options.degraded.has(ticket.entry)) {
      return this.#giveUp(ticket, { reason: timeoutReason(ticket.clock.phase) });
    }
    const { entry, leaseId, state } = ticket;
    this.#refuse(ticket, { reason: "store_unavailable" });
    // The store may still have its place, from before it went away.
    if (state === "waiting") this.#options.returns.withdraw(entry, leaseId);
  }

  /** Leaves the queue first: a slot that was assigned meanwhile is used, not thrown away. */
  #giveUp(ticket: Ticket, refusal: Parting): void {
    if (ticket.leaving || ticket.state !== "waiting") return;
    ticket.leaving = true;
    const { store, returns } = this.#options;
    leaveQueue(store, ticket).then(
      (lease) => {
        ticket.leaving = false;
        if (ticket.state !== "waiting") return;
        if (lease === null) this.#refuse(ticket, refusal);
        else this.#grant(ticket, lease);
      },
      () => {
        ticket.leaving = false;
        if (ticket.state !== "waiting") return;
        this.#refuse(ticket, refusal);
        returns.withdraw(ticket.entry, ticket.leaseId);
      },
    );
  }

  #ask(ticket: Ticket): void {
    const { store, clock } = this.#options;
    ticket.askPauseMs = Math.min(MAX_ASK_PAUSE_MS, ticket.askPauseMs * 2);
    ticket.askAt = clock.now() + ticket.askPauseMs;
    store.askTicket(ticket.entry.key, ticket.leaseId).then(
      (result) => this.#answered(ticket, result),
      // The keeper notices a store that is away; the next round asks again.
      () => {},
    );
  }

  #answered(ticket: Ticket, result: AskResult): void {
    if (ticket.state !== "waiting" || ticket.leaving) return;
    switch (result.kind) {
      case "leased":
        return this.#grant(ticket, result.lease);
      case "waiting":
        return this.#spreadPhase(ticket.entry, result.readyTargets);
      case "gone":
      case "unknown-revision":
        return this.#send(ticket);
      case "session-lost":
        return this.#giveUp(ticket, { reason: "session_lost" });
    }
  }

  #spreadPhase(entry: RevisionEntry, readyTargets: number): void {
    for (const ticket of entry.tickets.values()) {
      if (ticket.state === "waiting") this.#enterPhase(ticket, readyTargets);
    }
  }

  /** The call may have run all the same; the store withdraws its id, so the next has a new one. */
  #failed(ticket: Ticket): void {
    if (ticket.state !== "asking") return;
    const { tickets } = ticket.entry;
    tickets.delete(ticket.leaseId);
    ticket.leaseId = this.#options.nextLeaseId();
    tickets.set(ticket.leaseId, ticket);
    const pauseMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** ticket.failures);
    ticket.failures += 1;
    this.#sendLater(ticket, pauseMs);
  }

  #sendLater(ticket: Ticket, pauseMs: number): void {
    ticket.state = "asking";
    ticket.retryTimer = setTimeout(() => {
      if (ticket.state === "asking") this.#send(ticket);
    }, pauseMs);
  }

  #grant(ticket: Ticket, lease: Lease): void {
    if (!ticket.isOpen) return;
    this.#forget(ticket);
    ticket.state = "granted";
    ticket.entry.leases.set(lease.leaseId, lease);
    ticket.holder.granted(lease);
  }

  #refuse(ticket: Ticket, refusal: Parting): void {
    if (!ticket.isOpen) return;
    this.#abandon(ticket);
    if (refusal === "elsewhere") ticket.holder.left?.();
    else ticket.holder.refused(refusal);
  }

  #abandon(ticket: Ticket): void {
    this.#forget(ticket);
    ticket.state = "abandoned";
  }

  #forget(ticket: Ticket): void {
    if (ticket.timer !== undefined) this.#limits.clear(ticket.timer);
    clearTimeout(ticket.retryTimer);
    clearTimeout(ticket.rejectTimer);
    ticket.clock.stop(this.#options.clock.now());
    ticket.entry.tickets.delete(ticket.leaseId);
  }
}
