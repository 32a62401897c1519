/** What a request needs of its process, and the accounts kept of it when it is over. */
import type { Clock } from "../common/clock.ts";
import type { Logger } from "../foundation/logger.ts";
import type { Exchange } from "../proxy/types.ts";
import type { CallDesk } from "./call-desk.ts";
import type { CallerAuth } from "./caller-auth.ts";
import type { ColdStarts } from "./cold-starts.ts";
import type { Surroundings } from "./core/forward-headers.ts";
import type { SpillDesk } from "./spills/spill-desk.ts";
import type { RequestTimer } from "./core/request-timer.ts";
import type { InternalTls } from "./internal-tls.ts";
import type { Lookout } from "./lookout.ts";
import type { Hold } from "./hold.ts";
import type { Observing } from "./observing.ts";
import type { StockObserver } from "./stock-autoscaler.ts";
import type { RevisionMetrics } from "./metrics.ts";
import type { Witness } from "./witness.ts";

export interface DispatchParts {
  readonly hold: Hold;
  readonly witness: Witness;
  readonly lookout: Lookout;
  readonly callerAuth: CallerAuth;
  /** Where calls get their rank; null where nothing is kept of workflows. */
  readonly desk: CallDesk | null;
  readonly coldStarts: ColdStarts;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly surroundings: Surroundings;
  /** TLS between this process and the pods; null: clear text. */
  readonly internalTls: InternalTls | null;
  /** Longest wait for a connection to a pod. */
  readonly connectMs: number;
  /** Body bytes that the proxy core keeps for a replay. */
  readonly replayBytes: number;
  /** The operator allows `Pilotlight-Debug`. */
  readonly allowDebug: boolean;
  /** Exchanges that were upgraded and run: they are told when this process stops. */
  readonly upgraded: Set<Exchange>;
  /** Traces and the request log; null while both are off for good. */
  readonly observing: Observing | null;
  /** Where requests that find no slot here are weighed against other cells; absent without cells. */
  readonly spills?: SpillDesk | undefined;
  /** Hears of arrivals and ends for the stock autoscaler; null outside of a cluster. */
  readonly stockObserver: StockObserver | null;
}

export interface RequestEnd {
  /** Body bytes of the answer, where they are known. */
  readonly bytes?: number;
  /** Status that the caller got, 0 for none. */
  readonly status: number;
  readonly cancelled: boolean;
  readonly cold: boolean;
  readonly endedAt: number;
}

export function accountRequest(
  metrics: RevisionMetrics,
  timer: RequestTimer,
  end: RequestEnd,
): void {
  const times = timer.times();
  metrics.count("runs");
  metrics.observe("response", end.endedAt - timer.receivedAt);
  if (timer.grantedAt > 0) {
    metrics.observe("route", times.routeMs + times.connectMs);
    metrics.observe("queue", times.queueMs);
    metrics.observe("connect", times.connectMs);
    metrics.observe("upstream", times.upstreamMs);
    metrics.observe("execution", end.endedAt - timer.grantedAt);
    metrics.rememberWait(times.queueMs);
  }
  if (end.cold) {
    metrics.count("coldStarts");
    metrics.observe("coldStart", times.coldStartMs);
  }
  if (end.cancelled) metrics.count("cancelled");
  else if (end.status > 0 && end.status < 500) metrics.count("successes");
}
