/**
 * Where requests enter: answers probes, names the revision, gives the request its id, and starts
 * its dispatch. Unknown hosts end here.
 */
import { randomUUID } from "node:crypto";
import { REQUEST_ID_HEADER } from "../common/contracts/headers.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Exchange, FrontHooks } from "../proxy/types.ts";
import { platformAnswer, refusedHeadAnswer } from "./core/answers.ts";
import type { CallerHeaders } from "./core/caller-headers.ts";
import { readCallerHeaders } from "./core/caller-headers.ts";
import type { NameRevision } from "./core/name-revision.ts";
import { answerProbe } from "./core/probes.ts";
import { isValidRequestId } from "./core/request-id.ts";
import type { DispatchParts } from "./dispatch-parts.ts";
import type { DispatchRequest } from "./dispatch-request.ts";
import { Dispatch } from "./dispatch.ts";
import type { RequestObserver } from "./observing.ts";
import type { Revisions } from "./revisions.ts";
import type { RunDesk } from "./runs/run-desk.ts";

export interface EntranceOptions {
  readonly parts: DispatchParts;
  readonly revisions: Revisions;
  readonly nameRevision: NameRevision;
  /** Empty while this process is well. */
  readonly unhealthy: () => string;
  /** Where calls that may be asynchronous are looked at; null where no store of runs is wired. */
  readonly runDesk: RunDesk | null;
}

/** Requests that never had a revision, by reason. */
export type EntranceCounters = Map<string, number>;

export function createEntrance(
  options: EntranceOptions,
): FrontHooks & { readonly counters: EntranceCounters } {
  const counters: EntranceCounters = new Map();
  const count = (reason: string): void => {
    counters.set(reason, (counters.get(reason) ?? 0) + 1);
  };
  return {
    counters,
    onRefused: (reason) => {
      count(reason);
      return { ...refusedHeadAnswer(reason, randomUUID()), close: true };
    },
    onExchange: (exchange) => {
      const caller = readCallerHeaders(exchange.head.headers);
      const probe = answerProbe(caller, options.unhealthy());
      if (probe !== null) return exchange.answer(probe);
      const requestId = isValidRequestId(caller.requestId) ? caller.requestId : randomUUID();
      const { host } = exchange.head;
      const { knativeNamespace, knativeRevision } = caller;
      const naming = options.nameRevision({ host, knativeNamespace, knativeRevision });
      if (naming.kind === "named") {
        return dispatch(options, { exchange, caller, requestId }, naming.revision);
      }
      count("no_such_service");
      return exchange.answer(unknownHost({ caller, requestId, message: naming.message }));
    },
  };
}

interface Arrival {
  readonly exchange: Exchange;
  readonly caller: CallerHeaders;
  readonly requestId: string;
}

function dispatch(options: EntranceOptions, arrival: Arrival, revision: RevisionKey): void {
  const { parts, revisions, runDesk } = options;
  const entry = revisions.use(revision);
  // The exchange's instant is monotonic; all others are of the clock.
  const receivedAt = parts.clock.now() - (performance.now() - arrival.exchange.receivedAt);
  const observer = parts.observing?.follow(arrival.exchange.head, entry);
  const call = { ...arrival, entry, receivedAt, ...observed(observer) };
  if (runDesk?.concerns(arrival) === true) return runDesk.receive(call);
  new Dispatch(parts, call).begin();
}

function observed(
  observer: RequestObserver | undefined,
): Pick<DispatchRequest, "observer" | "head"> {
  if (observer === undefined) return NOT_OBSERVED;
  return observer.head === undefined ? { observer } : { observer, head: observer.head };
}

const NOT_OBSERVED = {};

function unknownHost(facts: {
  readonly caller: CallerHeaders;
  readonly requestId: string;
  readonly message: string;
}): ReturnType<typeof platformAnswer> {
  const { caller, requestId, message } = facts;
  return platformAnswer({
    reason: "no_such_service",
    message,
    requestId,
    accept: caller.accept,
    contentType: caller.contentType,
    retryAfterS: 1,
    headers: [REQUEST_ID_HEADER, requestId],
  });
}

export function renderEntranceMetrics(counters: EntranceCounters): string {
  const series = "pilotlight_requests_refused_total";
  const lines = [
    `# HELP ${series} Requests that were refused before they had a revision, by reason.`,
    `# TYPE ${series} counter`,
  ];
  for (const [reason, refused] of counters) lines.push(`${series}{reason="${reason}"} ${refused}`);
  return `${lines.join("\n")}\n`;
}
