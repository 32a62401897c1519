/** How one request is sent to a pod: protocol, limits, and whether its body waits for the sidecar. */
import type { RevisionConfig } from "../common/contracts/routing.ts";
import type { Attempt, AttemptLimits, Dialer, RequestHead } from "../proxy/types.ts";
import { runLimitMs } from "./core/deadlines.ts";
import type { Surroundings } from "./core/forward-headers.ts";
import { POD_TLS_PORT } from "./internal-tls.ts";

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

/**
 * Under early binding a call may wait in the pod: the sidecar says 100 when the container gets it,
 * and until then nobody has seen it. Without a body there is nothing to hold back.
 */
export function mayWaitInPod(head: RequestHead, config: RevisionConfig | null): boolean {
  return config?.binding === "early" && head.contentLength !== 0 && head.upgrade === "";
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

export type AttemptPlan = Pick<
  Attempt,
  "host" | "port" | "protocol" | "target" | "awaitContinue" | "limits" | "dialer"
>;

export interface PlanFacts extends LimitFacts {
  readonly replayBytes: number;
  readonly surroundings: Surroundings;
  /** How pods are reached under TLS; undefined: in clear text. */
  readonly dialer: Dialer | undefined;
}

/** Where a sidecar listens, by its `ip:port` for clear text. */
export function addressOf(
  address: string,
  dialer: Dialer | undefined,
): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(":");
  return {
    host: address.slice(0, colon),
    port: dialer === undefined ? Number(address.slice(colon + 1)) : POD_TLS_PORT,
  };
}

/** All that is the same whoever listens to the attempt. */
export function planAttempt(address: string, head: RequestHead, facts: PlanFacts): AttemptPlan {
  const { config, replayBytes, surroundings, dialer } = facts;
  return {
    ...addressOf(address, dialer),
    ...(dialer === undefined ? {} : { dialer }),
    protocol: attemptProtocol(head, config, surroundings),
    target: head.target,
    awaitContinue: mustAwaitContinue(head, replayBytes) || mayWaitInPod(head, config),
    limits: attemptLimits(facts),
  };
}
