/** Whether a request may be served here at all, asked once before it asks for a slot. */
import type { RevisionConfig } from "../common/contracts/routing.ts";
import type { DispatchParts } from "./dispatch-parts.ts";
import type { DispatchRequest } from "./dispatch-request.ts";
import type { CellCall } from "./spills/cell-call.ts";
import type { Refusal } from "./ticket.ts";

/** Why not; null when it may. An asynchronous run and a request of another cell were let in before. */
export function checkCall(
  parts: Pick<DispatchParts, "callerAuth">,
  { exchange, run }: Pick<DispatchRequest, "exchange" | "run">,
  cells: CellCall,
  config: RevisionConfig,
): Refusal | null | Promise<Refusal | null> {
  const refusal = cells.check(config);
  if (refusal !== null || run !== undefined || cells.isLetIn) return refusal;
  return parts.callerAuth.checkCall(config, exchange.head.headers);
}
