/**
 * Every HTTP header that crosses a process border, lower case as Node hands headers out.
 * Sources: Knative data-plane contract for the `k-` and `knative-` names, our wire reference
 * (docs/reference/wire.md) for the rest.
 */

/** Prefix of our own headers. */
export const HEADER_PREFIX = "pilotlight-";

/** Names the pod a request is meant for; a queue-proxy with another UID answers 421. */
export const TARGET_UID_HEADER = "pilotlight-target-uid";
/** The lease under which the request runs; the sidecar reports which of them still run. */
export const LEASE_HEADER = "pilotlight-lease";
/** Order of the request in a local queue: `<class>;<key in ms>;<sequence>`. */
export const ORDER_HEADER = "pilotlight-order";
/**
 * `100-continue` when the caller itself sent that expectation. `Expect` between activator and pod is
 * the activator's own word, with which it keeps a body until the pod takes the request.
 */
export const CALLER_EXPECT_HEADER = "pilotlight-expect";
/** Size, expected time and names of a call for the sidecar; form in `call-note.ts`. */
export const CALL_HEADER = "pilotlight-call";
/** Asks a sidecar to hand back the call of this lease, if it still waits there. */
export const RETURN_HEADER = "pilotlight-return";
export const HOP_HEADER = "pilotlight-hop";
export const SPILL_HEADER = "pilotlight-spill";
export const TENANT_HEADER = "pilotlight-tenant";
/** On a hop between cells: where the call stands in its workflow, in us from now. */
export const PLAN_HEADER = "pilotlight-plan";
/** On a hop between cells: what is left, `wait=<ms>[, deadline=<ms>]`; never a clock time. */
export const REMAINING_HEADER = "pilotlight-remaining";

/** On answers made by the platform: the reason word of `wire-reasons.ts`. */
export const REASON_HEADER = "pilotlight-reason";
/** `true` when the request waited for a pod to start. */
export const COLD_START_HEADER = "pilotlight-cold-start";
/** Asked for by the caller: a refusal rather than an answer after the deadline. */
export const REJECT_LATE_HEADER = "pilotlight-reject-late";
/** Asked for by the caller: adds pod and attempts to the answer. */
export const DEBUG_HEADER = "pilotlight-debug";
export const POD_HEADER = "pilotlight-pod";
export const ATTEMPTS_HEADER = "pilotlight-attempts";
export const WARNING_HEADER = "pilotlight-warning";
export const SESSION_HEADER = "pilotlight-session";
export const REQUEST_ID_HEADER = "x-request-id";
export const SERVER_TIMING_HEADER = "server-timing";
export const IDEMPOTENCY_KEY_HEADER = "idempotency-key";
export const PREFER_HEADER = "prefer";
export const PREFERENCE_APPLIED_HEADER = "preference-applied";

/** From the caller, never to the container: key of the webhook's signature, form of its message. */
export const WEBHOOK_SECRET_HEADER = "x-webhook-secret";
export const WEBHOOK_FORMAT_HEADER = "pilotlight-webhook-format";
/** On the message to a webhook. */
export const WEBHOOK_TIMESTAMP_HEADER = "pilotlight-webhook-timestamp";
export const WEBHOOK_SIGNATURE_HEADER = "pilotlight-webhook-signature";
export const WEBHOOK_STATUS_HEADER = "pilotlight-webhook-status";
export const WEBHOOK_OMITTED_HEADER = "pilotlight-webhook-omitted";
/** Longest time that a run may take in the container, in ms, from activator to sidecar. */
export const RUN_LIMIT_HEADER = "pilotlight-run-limit";

/** Knative's own names. */
export const KNATIVE_REVISION_HEADER = "knative-serving-revision";
export const KNATIVE_NAMESPACE_HEADER = "knative-serving-namespace";
export const NETWORK_PROBE_HEADER = "k-network-probe";
export const NETWORK_HASH_HEADER = "k-network-hash";
export const KUBELET_PROBE_HEADER = "k-kubelet-probe";
export const ORIGINAL_HOST_HEADER = "k-original-host";
export const PROXY_REQUEST_HEADER = "k-proxy-request";
/** Value of `k-proxy-request` on requests that came through an activator. */
export const PROXY_REQUEST_ACTIVATOR = "activator";
export const PASSTHROUGH_LB_HEADER = "k-passthrough-lb";

/** User-agent prefixes by which Knative tells probes from traffic. */
export const KUBELET_PROBE_AGENT = "kube-probe/";
export const ACTIVATOR_PROBE_AGENT = "Knative-Activator-Probe";
export const AUTOSCALER_PROBE_AGENT = "Knative-Autoscaling-Probe";

/**
 * Internal headers: removed when they come from outside the platform, and again before the user
 * container sees the request.
 */
export const INTERNAL_HEADERS: ReadonlySet<string> = new Set([
  TARGET_UID_HEADER,
  LEASE_HEADER,
  ORDER_HEADER,
  CALL_HEADER,
  RETURN_HEADER,
  CALLER_EXPECT_HEADER,
  HOP_HEADER,
  SPILL_HEADER,
  TENANT_HEADER,
  REMAINING_HEADER,
  PLAN_HEADER,
  RUN_LIMIT_HEADER,
]);

/** Hop-by-hop headers of RFC 9110 7.6.1; names listed in `connection` join them per message. */
export const HOP_BY_HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
