/** The clock of a request's limits: its own deadline, or what is left of it on another cell's word. */
import type { CallerHeaders } from "../core/caller-headers.ts";
import { WaitClock, callerEndsAt } from "../core/deadlines.ts";
import type { IncomingHop } from "./incoming-hop.ts";

export function clockOf(
  request: { readonly caller: CallerHeaders; readonly receivedAt: number },
  hop: IncomingHop | undefined,
): WaitClock {
  const { caller, receivedAt } = request;
  const endsAt = callerEndsAt(caller, receivedAt);
  if (hop === undefined) return new WaitClock(receivedAt, endsAt);
  const { waitMs, deadlineMs } = hop.headers;
  return new WaitClock(receivedAt, Math.min(endsAt, receivedAt + deadlineMs), receivedAt + waitMs);
}
