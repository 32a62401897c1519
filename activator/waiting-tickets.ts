/** Waiting requests and the store's queue: which to ask about, and how one leaves. */
import type { Lease, RoutingStore } from "../store/types.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Ticket } from "./ticket.ts";

const MAX_ASKS_PER_ROUND = 256;

/** Those whose message may be lost; without any the eldest, whose answer tells the phase of all. */
export function ticketsToAsk(entry: RevisionEntry, now: number): readonly Ticket[] {
  const due: Ticket[] = [];
  let eldest: Ticket | undefined;
  for (const ticket of entry.tickets.values()) {
    if (ticket.state !== "waiting") continue;
    if (eldest === undefined || ticket.askAt < eldest.askAt) eldest = ticket;
    if (ticket.askAt <= now && due.length < MAX_ASKS_PER_ROUND) due.push(ticket);
  }
  if (due.length > 0 || eldest === undefined) return due;
  return [eldest];
}

/** The lease of a request that was assigned a slot meanwhile: it is used, not thrown away. */
export async function leaveQueue(store: RoutingStore, ticket: Ticket): Promise<Lease | null> {
  const { entry, leaseId } = ticket;
  if (await store.cancelTicket(entry.key, leaseId)) return null;
  const result = await store.askTicket(entry.key, leaseId);
  return result.kind === "leased" ? result.lease : null;
}

/** For a caller that asked to be refused when its answer would come too late. */
export function armRejection(ticket: Ticket, tooLate: () => void): void {
  const afterMs = ticket.holder.rank?.rejectAfterMs(ticket.arrivedAt) ?? Infinity;
  if (afterMs > LONGEST_TIMER_MS) return;
  clearTimeout(ticket.rejectTimer);
  ticket.rejectTimer = setTimeout(tooLate, Math.max(0, afterMs));
}

/** Node fires a longer timer at once. */
const LONGEST_TIMER_MS = 2_147_000_000;
