/** How one request is sent to a pod: protocol, limits, and whether its body waits for the sidecar. */
import type { RevisionConfig } from "../common/contracts/routing.ts";
import type { Attempt, AttemptLimits, Dialer, RequestHead } from "../proxy/types.ts";
import { runLimitMs } from "./core/deadlines.ts";
import type { Surroundings } from "./core/forward-headers.ts";
import type { DispatchParts } from "./dispatch-parts.ts";
import { POD_TLS_PORT } from "./internal-tls.ts";
import type { RevisionEntry } from "./revision-entry.ts";

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

/** Of one request at one moment. */
export interface AttemptFacts {
  /** Its configuration is null only where no slot is granted. */
  readonly entry: Pick<RevisionEntry, "key" | "config">;
  /** When the caller gives up, as it said itself. */
  readonly endsAt: number;
  readonly now: number;
  /** Limit of an asynchronous run, in place of the revision's own. */
  readonly runMs?: number | undefined;
}

export type AttemptSettings = Pick<
  DispatchParts,
  "connectMs" | "replayBytes" | "surroundings" | "internalTls"
>;

export function attemptLimits(
  { connectMs }: Pick<AttemptSettings, "connectMs">,
  { entry: { config }, endsAt, now, runMs }: AttemptFacts,
): AttemptLimits {
  return {
    connectMs,
    startMs: config?.responseStartTimeoutMs ?? 0,
    idleMs: config?.idleTimeoutMs ?? 0,
    totalMs: runLimitMs(runMs ?? config?.timeoutMs ?? 0, endsAt, now),
  };
}

/** What is sent, and who hears of it. */
export interface Sent extends Required<Pick<Attempt, "onConnected">>, Pick<Attempt, "onEnd"> {
  readonly head: RequestHead;
  readonly address: string;
  readonly headers: readonly string[];
  readonly onResponse: Attempt["onResponse"];
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

/** In one piece: a request makes one of these, and copies cost more than what is in them. */
export function planAttempt(parts: AttemptSettings, facts: AttemptFacts, sent: Sent): Attempt {
  const { replayBytes, surroundings, internalTls } = parts;
  const { head, address } = sent;
  const { config, key } = facts.entry;
  const dialer = internalTls?.dialerOf(key);
  const { host, port } = addressOf(address, dialer);
  return {
    host,
    port,
    dialer,
    protocol: attemptProtocol(head, config, surroundings),
    target: head.target,
    awaitContinue: mustAwaitContinue(head, replayBytes) || mayWaitInPod(head, config),
    limits: attemptLimits(parts, facts),
    headers: sent.headers,
    onConnected: sent.onConnected,
    onResponse: sent.onResponse,
    onEnd: sent.onEnd,
  };
}
