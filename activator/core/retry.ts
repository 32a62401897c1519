/**
 * What a failed attempt means: for the target (evidence), for the request (again, answer, nothing
 * more to do), and for the lease (outcome). A pure table; the dispatch carries it out.
 *
 *   attempt ended with          delivered?  evidence         request
 *   connect-failed              no          connect-failed   reroute
 *   421                         no          misdirected      reroute
 *   503 pod_full                no          pod-full         reroute
 *   503 draining                no          draining         reroute
 *   503 handed_back             no          none             reroute (as moved)
 *   reset before the 100        no          reset            reroute
 *   reset, reused connection    unknown     reset-reused     repeat if allowed, else 502
 *   reset, fresh connection     unknown     reset            repeat if allowed, else 502
 *   502 made by the sidecar     unknown     none             repeat if allowed, else passed on
 *   answer broke off            yes         reset            nothing: the caller was cut
 *   limit, no valid answer      yes         none             504 or 502
 */
import type { RetryMode } from "../../common/contracts/routing.ts";
import { WIRE_REASONS } from "../../common/contracts/wire-reasons.ts";
import type { WireReasonName } from "../../common/contracts/wire-reasons.ts";

/** Attempts that a container may have seen, per request; undelivered ones do not count. */
export const MAX_DELIVERED_ATTEMPTS = 3;

/** Methods that may be repeated when it is unknown whether they ran (RFC 9110 9.2.2). */
const REPEATABLE_METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
  "TRACE",
]);

/** The part of the proxy core's `AttemptEnd` that decides; structurally the same. */
export type AttemptFacts =
  | { readonly kind: "done"; readonly status: number }
  | { readonly kind: "intercepted"; readonly status: number }
  | { readonly kind: "connect-failed" }
  | { readonly kind: "reset"; readonly reused: boolean; readonly bodyStarted?: boolean }
  | { readonly kind: "bad-response" }
  | { readonly kind: "cut" }
  | { readonly kind: "limit"; readonly limit: "start" | "idle" | "total"; readonly began: boolean }
  | { readonly kind: "client-gone" }
  | { readonly kind: "cancelled"; readonly began: boolean };

export interface RequestFacts {
  readonly method: string;
  readonly hasIdempotencyKey: boolean;
  readonly retry: RetryMode;
  /** Attempts with delivery possible, this one included. */
  readonly deliveredAttempts: number;
  /** All of what was sent is still held, and nothing was answered. */
  readonly replayable: boolean;
  /** The body was held back until the sidecar's 100, which it says when the container gets it. */
  readonly awaitedContinue?: boolean;
  /** The caller reads a status in gRPC's own words only. */
  readonly isGrpc?: boolean;
}

/** Same words as the store's `TargetEvidence`. */
export type Evidence =
  | "connect-failed"
  | "misdirected"
  | "pod-full"
  | "draining"
  | "reset"
  | "reset-reused"
  | "none";

/** Same words as the store's `ReleaseOutcome`. */
export type Outcome = "done" | "error" | "cancelled" | "timeout" | "moved" | "not-delivered";

export type NextStep =
  /** Nothing was delivered: the next target, at the same place in the queue. */
  | { readonly kind: "reroute" }
  /** It may have run and may run once more. */
  | { readonly kind: "repeat" }
  | { readonly kind: "answer"; readonly reason: WireReasonName }
  /** The caller has its answer, was cut, or is gone. */
  | { readonly kind: "over" };

export interface Verdict {
  readonly evidence: Evidence;
  readonly outcome: Outcome;
  readonly next: NextStep;
}

const REROUTE: NextStep = { kind: "reroute" };
const OVER: NextStep = { kind: "over" };

const verdict = (evidence: Evidence, outcome: Outcome, next: NextStep): Verdict => ({
  evidence,
  outcome,
  next,
});

export function judgeAttempt(end: AttemptFacts, reason: string, request: RequestFacts): Verdict {
  switch (end.kind) {
    case "done":
      return verdict("none", outcomeOf(end.status), OVER);
    case "intercepted":
      return judgeIntercepted(end.status, reason, request);
    case "connect-failed":
      return verdict("connect-failed", "not-delivered", rerouteIfHeld(request));
    case "reset":
      return judgeReset(end, request);
    case "bad-response":
      return verdict("none", "error", { kind: "answer", reason: "bad_response" });
    case "cut":
      return verdict("reset", "error", OVER);
    case "limit":
      return verdict("none", "timeout", limitStep(end));
    case "client-gone":
      return verdict("none", "cancelled", OVER);
    case "cancelled":
      return verdict("none", "cancelled", OVER);
  }
}

/**
 * Whether an answer made by the sidecar is kept from the caller. `reason` is its
 * `Pilotlight-Reason`; a container's own answer has none and always passes.
 */
export function mustIntercept(status: number, reason: string, request: RequestFacts): boolean {
  if (reason === "") return false;
  // Even when it cannot be sent again: a caller never sees the words between our own hops.
  if (isHandedBack(status, reason)) return true;
  if (undeliveredEvidence(status, reason) !== "none") return true;
  if (request.isGrpc === true && status !== 200) return true;
  return isUnknownCase(status, reason) && mayRepeat(request);
}

/** The rule for cases where nobody knows whether the request ran. */
export function mayRepeat(request: RequestFacts): boolean {
  if (!request.replayable || request.deliveredAttempts >= MAX_DELIVERED_ATTEMPTS) return false;
  switch (request.retry) {
    case "never":
      return false;
    case "idempotent":
      return true;
    case "safe":
      return request.hasIdempotencyKey || REPEATABLE_METHODS.has(request.method);
  }
}

function outcomeOf(status: number): Outcome {
  return status >= 500 ? "error" : "done";
}

function judgeReset(
  end: { readonly reused: boolean; readonly bodyStarted?: boolean },
  request: RequestFacts,
): Verdict {
  const evidence = resetEvidence(end.reused);
  // It waited in the sidecar: the container has not seen it.
  if (request.awaitedContinue === true && end.bodyStarted === false) {
    return verdict(evidence, "not-delivered", rerouteIfHeld(request));
  }
  return verdict(evidence, "error", repeatOrFail(request));
}

/** An idle connection may be closed by the other side for no fault: only a second one counts. */
function resetEvidence(reused: boolean): Evidence {
  return reused ? "reset-reused" : "reset";
}

function judgeIntercepted(status: number, reason: string, request: RequestFacts): Verdict {
  if (isHandedBack(status, reason)) return verdict("none", "moved", rerouteIfHeld(request));
  const evidence = undeliveredEvidence(status, reason);
  if (evidence !== "none") return verdict(evidence, "not-delivered", rerouteIfHeld(request));
  if (isUnknownCase(status, reason) && mayRepeat(request)) {
    return verdict("none", "error", { kind: "repeat" });
  }
  const outcome = status === 504 ? "timeout" : "error";
  return verdict("none", outcome, { kind: "answer", reason: wireReason(reason) });
}

/** The sidecar's own word, given on in the form that the caller reads. */
function wireReason(word: string): WireReasonName {
  return isWireReason(word) ? word : "upstream_reset";
}

function isWireReason(word: string): word is WireReasonName {
  return Object.hasOwn(WIRE_REASONS, word);
}

function undeliveredEvidence(status: number, reason: string): Evidence {
  if (status === 421 && reason === "wrong_target") return "misdirected";
  if (status === 503 && reason === "pod_full") return "pod-full";
  if (status === 503 && reason === "draining") return "draining";
  return "none";
}

/** It waited in a pod, and an idle one may take it. */
function isHandedBack(status: number, reason: string): boolean {
  return status === 503 && reason === "handed_back";
}

/** The sidecar lost its container in mid-request; the container may have seen the request. */
function isUnknownCase(status: number, reason: string): boolean {
  return status === 502 && (reason === "upstream_reset" || reason === "container_exited");
}

function rerouteIfHeld(request: RequestFacts): NextStep {
  return request.replayable ? REROUTE : { kind: "answer", reason: "upstream_reset" };
}

function repeatOrFail(request: RequestFacts): NextStep {
  return mayRepeat(request) ? { kind: "repeat" } : { kind: "answer", reason: "upstream_reset" };
}

function limitStep(end: { readonly limit: string; readonly began: boolean }): NextStep {
  if (end.began) return OVER;
  const reason = end.limit === "start" ? "response_start_timeout" : "response_timeout";
  return { kind: "answer", reason };
}
