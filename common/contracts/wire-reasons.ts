/**
 * Answers that the platform itself makes: reason word, HTTP status, body text where stock Knative
 * has one, and whether `Retry-After` belongs on it. The wire shows these words; `ERR_` codes stay
 * inside. Table: docs/reference/errors.md.
 */

export interface WireReason {
  readonly status: number;
  /** gRPC status code sent instead, trailers-only, when the caller speaks gRPC. */
  readonly grpcStatus: number;
  /** The caller may send the request again as it is; adds `Retry-After`. */
  readonly repeatable: boolean;
  /** Body text of stock Knative, kept where clients may look for it. */
  readonly stockText?: string;
}

const UNAVAILABLE = 14;
const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const INVALID_ARGUMENT = 3;

const reason = (
  status: number,
  grpcStatus: number,
  rest: Partial<Pick<WireReason, "repeatable" | "stockText">> = {},
): WireReason => ({ status, grpcStatus, repeatable: false, ...rest });

export const WIRE_REASONS = {
  malformed_request: reason(400, INTERNAL),
  request_head_timeout: reason(408, INTERNAL),
  unknown_expectation: reason(417, INTERNAL),
  header_too_large: reason(431, INTERNAL),
  invalid_async: reason(400, INVALID_ARGUMENT),
  invalid_webhook: reason(400, INVALID_ARGUMENT),
  no_such_service: reason(404, UNIMPLEMENTED),
  no_such_run: reason(404, UNIMPLEMENTED),
  unauthenticated: reason(401, 16),
  forbidden: reason(403, 7),
  session_lost: reason(410, UNAVAILABLE),
  body_too_large: reason(413, 8),
  wrong_target: reason(421, UNAVAILABLE),
  pod_full: reason(503, UNAVAILABLE, { stockText: "pending request queue full" }),
  draining: reason(503, UNAVAILABLE),
  handed_back: reason(503, UNAVAILABLE),
  rate_limited: reason(429, UNAVAILABLE, { repeatable: true }),
  upstream_reset: reason(502, UNAVAILABLE),
  container_exited: reason(502, UNAVAILABLE),
  bad_response: reason(502, UNAVAILABLE),
  queue_full: reason(503, UNAVAILABLE, {
    repeatable: true,
    stockText: "pending request queue full",
  }),
  activation_failed: reason(503, UNAVAILABLE, { repeatable: true }),
  no_capacity: reason(503, UNAVAILABLE, { repeatable: true }),
  deadline_unreachable: reason(503, UNAVAILABLE, { repeatable: true }),
  store_unavailable: reason(503, UNAVAILABLE, { repeatable: true }),
  spill_refused: reason(503, UNAVAILABLE, { repeatable: true }),
  activator_draining: reason(503, UNAVAILABLE, { repeatable: true }),
  queue_timeout: reason(504, DEADLINE_EXCEEDED, { repeatable: true }),
  activation_timeout: reason(504, DEADLINE_EXCEEDED, { repeatable: true }),
  response_start_timeout: reason(504, DEADLINE_EXCEEDED, {
    stockText: "activator request timeout",
  }),
  response_timeout: reason(504, DEADLINE_EXCEEDED, { stockText: "activator request timeout" }),
  terminated: reason(504, DEADLINE_EXCEEDED),
} as const satisfies Record<string, WireReason>;

export type WireReasonName = keyof typeof WIRE_REASONS;
