/**
 * Spans of the sidecar: its wait for a slot and the container's own time. Loaded when tracing is
 * on, so that a start without it pays nothing.
 */
import { TRACEPARENT_HEADER } from "../common/trace-context.ts";
import { createTracer } from "../foundation/tracing/tracer.ts";
import type { Tracer } from "../foundation/tracing/tracer.ts";
import type { Logger } from "../foundation/logger.ts";
import { getHeader } from "../proxy/headers.ts";
import type { RequestHead } from "../proxy/types.ts";
import type { QueueProxyConfig } from "./config.ts";

export interface FlowTrace {
  /** The caller's list with our span as the caller of the container. */
  headers(list: readonly string[]): readonly string[];
  ended(head: Pick<RequestHead, "method" | "target">, times: FlowTimes): void;
}

/** ms since the epoch; `startedAt` 0: it never had a slot. */
export interface FlowTimes {
  readonly arrivedAt: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly status: number;
}

export interface FlowTracing {
  follow(headers: readonly string[]): FlowTrace;
  close(): Promise<void>;
}

export function createFlowTracing(config: QueueProxyConfig, logger: Logger): FlowTracing {
  const { tracing } = config.observability;
  const tracer = createTracer({
    endpoint: tracing?.endpoint ?? "",
    samplingRate: tracing?.samplingRate ?? 0,
    resource: {
      "service.name": "queue-proxy",
      "k8s.namespace.name": config.namespace,
      "k8s.pod.name": config.podName,
      "kn.service.name": config.service,
      "kn.revision.name": config.revision,
    },
    onWarning: (message, fields) => logger.warn(message, fields),
  });
  return { follow: (headers) => follow(tracer, headers), close: () => tracer.close() };
}

function follow(tracer: Tracer, headers: readonly string[]): FlowTrace {
  const trace = tracer.begin(getHeader(headers, TRACEPARENT_HEADER) ?? "");
  return {
    headers: (list) => [...withoutParent(list), TRACEPARENT_HEADER, trace.traceparent],
    ended: ({ method, target }, { arrivedAt, startedAt, endedAt, status }) => {
      const runsFrom = startedAt === 0 ? endedAt : startedAt;
      trace.part("queue-proxy wait", arrivedAt, runsFrom);
      trace.part("container", runsFrom, endedAt);
      trace.end({
        name: "queue-proxy",
        startAt: arrivedAt,
        endAt: endedAt,
        attributes: {
          "http.request.method": method,
          "url.path": target.split("?")[0] ?? "",
          "http.response.status_code": status,
        },
        isError: status >= 500 || status === 0,
      });
    },
  };
}

function withoutParent(list: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < list.length; at += 2) {
    const name = list[at] ?? "";
    if (name.toLowerCase() !== TRACEPARENT_HEADER) kept.push(name, list[at + 1] ?? "");
  }
  return kept;
}
