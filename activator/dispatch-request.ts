/** One request as its dispatch takes it over, and what is read of it for rules and records. */
import { isGrpc } from "../common/contracts/grpc.ts";
import type { Exchange, RequestHead } from "../proxy/types.ts";
import type { Lease } from "../store/types.ts";
import { mayWaitInPod } from "./attempt-plan.ts";
import type { ColdStarts } from "./cold-starts.ts";
import type { CallerHeaders } from "./core/caller-headers.ts";
import type { RequestTimer } from "./core/request-timer.ts";
import type { RequestFacts } from "./core/retry.ts";
import type { Follower } from "./follower.ts";
import type { RequestObserver } from "./observing.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { IncomingHop } from "./spills/incoming-hop.ts";

export interface DispatchRequest {
  readonly exchange: Exchange;
  readonly entry: RevisionEntry;
  readonly caller: CallerHeaders;
  readonly requestId: string;
  /** Instant of the complete head, ms since the epoch. */
  readonly receivedAt: number;
  /** In place of the exchange's, where the container must see another. */
  readonly head?: RequestHead;
  /** An asynchronous run: its caller was let in when it was accepted, and it has a limit of its own. */
  readonly run?: { readonly limitMs: number };
  readonly follower?: Follower;
  readonly observer?: RequestObserver;
  /** It came from another cell. */
  readonly hop?: IncomingHop;
}

export function noteColdStart(
  coldStarts: ColdStarts,
  request: DispatchRequest,
  lease: Lease,
  timer: RequestTimer,
): void {
  const { entry, requestId, receivedAt } = request;
  coldStarts.note({
    revision: entry.key,
    service: entry.metrics.service,
    requestId,
    podUid: lease.targetUid,
    requestAt: receivedAt,
    dispatchedAt: timer.grantedAt,
    firstByteAt: timer.respondedAt,
  });
}

/** What the rules about repeating look at. */
export function requestFacts(request: DispatchRequest, delivered: number): RequestFacts {
  const { exchange, entry, caller, head = exchange.head } = request;
  return {
    method: exchange.head.method,
    hasIdempotencyKey: caller.idempotencyKey !== "",
    retry: entry.config?.retry ?? "never",
    deliveredAttempts: delivered + 1,
    replayable: exchange.replayable && exchange.pristine,
    isGrpc: isGrpc(caller.contentType),
    awaitedContinue: mayWaitInPod(head, entry.config),
  };
}
