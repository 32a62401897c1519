/**
 * Those who follow requests without taking part: traces and the request log. Both off, a request
 * has no follower and pays nothing.
 */
import { TRACEPARENT_HEADER } from "../common/trace-context.ts";
import { createRequestLine, traceIdOf } from "../common/request-log.ts";
import type { RequestLine } from "../common/request-log.ts";
import type { Trace, Tracer } from "../foundation/tracing/tracer.ts";
import type { RequestHead } from "../proxy/types.ts";
import { findHeader } from "./core/caller-headers.ts";
import { withHeader } from "./core/forward-headers.ts";
import type { RequestTimer } from "./core/request-timer.ts";
import type { RequestEnd } from "./dispatch-parts.ts";
import type { RevisionEntry } from "./revision-entry.ts";

/** What the operator wants to see of requests; may change while the process runs. */
export interface LogSettings {
  /** Empty: no request log. */
  readonly template: string;
}

export interface RequestObserver {
  /** In place of the request's own: names our span as the caller of the next hop. */
  readonly head?: RequestHead;
  ended(timer: RequestTimer, end: RequestEnd): void;
}

export interface ObservingOptions {
  readonly tracer: Tracer | null;
  readonly write: (line: string) => void;
}

export class Observing {
  readonly #options: ObservingOptions;
  #template = "";
  #line: RequestLine | undefined;

  constructor(options: ObservingOptions) {
    this.#options = options;
  }

  setLog({ template }: LogSettings): void {
    if (template === this.#template) return;
    this.#template = template;
    this.#line = createRequestLine(template, this.#options.write);
  }

  /** Undefined while nobody follows. */
  follow(head: RequestHead, entry: RevisionEntry): RequestObserver | undefined {
    const { tracer } = this.#options;
    if (tracer === null && this.#line === undefined) return undefined;
    const trace = tracer?.begin(findHeader(head.headers, TRACEPARENT_HEADER));
    const ended = (timer: RequestTimer, end: RequestEnd): void => {
      if (trace?.isSampled === true) addSpans(trace, { head, entry, timer, end });
      this.#log(head, entry, { timer, end });
    };
    if (trace === undefined) return { ended };
    const headers = withHeader(head.headers, TRACEPARENT_HEADER, trace.traceparent);
    return { head: { ...head, headers }, ended };
  }

  /** Stock names no pod here, and leaves the trace empty; ours is more useful with it. */
  #log(
    request: RequestHead,
    { key, metrics }: RevisionEntry,
    { timer, end }: { readonly timer: RequestTimer; readonly end: RequestEnd },
  ): void {
    if (this.#line === undefined) return;
    const [namespace = "", name = ""] = key.split("/");
    const { service } = metrics;
    const seconds = Math.max(0, end.endedAt - timer.receivedAt) / 1_000;
    // 499: the caller left before there was an answer.
    const status = end.cancelled && end.status === 0 ? 499 : end.status;
    this.#options.write(
      this.#line({
        request,
        response: { status, bytes: end.bytes ?? 0, seconds },
        revision: { Name: name, Namespace: namespace, Service: service, Configuration: service },
        traceId: traceIdOf(request.headers),
      }),
    );
  }
}

interface Followed {
  readonly head: RequestHead;
  readonly entry: RevisionEntry;
  readonly timer: RequestTimer;
  readonly end: RequestEnd;
}

/** One span for the whole, and one for each part that took time, in the order of the way. */
function addSpans(trace: Trace, { head, entry, timer, end }: Followed): void {
  const { coldStartMs, queueMs, connectMs } = timer.times();
  const { receivedAt, grantedAt, respondedAt } = timer;
  const waitedUntil = grantedAt > 0 ? grantedAt : end.endedAt;
  trace.part("cold start", waitedUntil - queueMs - coldStartMs, waitedUntil - queueMs);
  trace.part("queue", waitedUntil - queueMs, waitedUntil);
  if (grantedAt > 0) {
    trace.part("connect", grantedAt, grantedAt + connectMs);
    trace.part("upstream", grantedAt + connectMs, respondedAt > 0 ? respondedAt : end.endedAt);
  }
  const [namespace = "", revision = ""] = entry.key.split("/");
  trace.end({
    name: "activator",
    startAt: receivedAt,
    endAt: end.endedAt,
    attributes: {
      "http.request.method": head.method,
      "url.path": head.target.split("?")[0] ?? "",
      "http.response.status_code": end.status,
      "k8s.namespace.name": namespace,
      "kn.service.name": entry.metrics.service,
      "kn.revision.name": revision,
      "pilotlight.cold_start": end.cold,
    },
    isError: end.status >= 500,
  });
}
