/** How one request is sent to a pod: protocol, limits, and whether its body waits for the sidecar. */
import type { RevisionConfig } from "../common/contracts/routing.ts";
import type { Attempt, AttemptLimits, RequestHead } from "../proxy/types.ts";
import { runLimitMs } from "./core/deadlines.ts";
import type { Surroundings } from "./core/forward-headers.ts";

/**
 * In a cluster the ingress has chosen by the name of the container's port, and each hop mirrors what
 * arrived. In local mode this process is the ingress, so it chooses; only a switch of protocols
 * needs HTTP/1.1, whatever the port is called.
 */
export function attemptProtocol(
  head: RequestHead,
  config: RevisionConfig | null,
  surroundings: Surroundings,
): Attempt["protocol"] {
  if (head.upgrade !== "") return "http1";
  if (surroundings === "cluster") return head.httpVersion === "2" ? "h2c" : "http1";
  return config?.protocol ?? "http1";
}

/** Undelivered cases stay repeatable at any size: a large body waits for the sidecar's word. */
export function mustAwaitContinue(head: RequestHead, replayBytes: number): boolean {
  return head.expectsContinue || head.contentLength < 0 || head.contentLength > replayBytes;
}

export interface LimitFacts {
  /** Null grants no slot; its zeros are never used. */
  readonly config: RevisionConfig | null;
  readonly connectMs: number;
  /** When the caller gives up, as it said itself. */
  readonly endsAt: number;
  readonly now: number;
  /** Limit of an asynchronous run, in place of the revision's own. */
  readonly runMs?: number | undefined;
}

export function attemptLimits(facts: LimitFacts): AttemptLimits {
  const { config, connectMs, endsAt, now } = facts;
  const runMs = facts.runMs ?? config?.timeoutMs ?? 0;
  return {
    connectMs,
    startMs: config?.responseStartTimeoutMs ?? 0,
    idleMs: config?.idleTimeoutMs ?? 0,
    totalMs: runLimitMs(runMs, endsAt, now),
  };
}
