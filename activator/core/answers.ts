/**
 * The platform's own answers: status, text and headers of each wire reason, as plain text, JSON or
 * gRPC trailers-only. A container's answer never passes through here.
 */
import { encodeGrpcMessage, isGrpc } from "../../common/contracts/grpc.ts";
import { REASON_HEADER, REQUEST_ID_HEADER } from "../../common/contracts/headers.ts";
import { WIRE_REASONS } from "../../common/contracts/wire-reasons.ts";
import type { WireReason, WireReasonName } from "../../common/contracts/wire-reasons.ts";

export interface PlatformAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

export interface AnswerContext {
  readonly reason: WireReasonName;
  /** One line for the caller; empty takes the stock text, else the usual sentence. */
  readonly message: string;
  readonly requestId: string;
  readonly accept: string;
  readonly contentType: string;
  /** Seconds for `Retry-After`; used where the reason allows a repeat. */
  readonly retryAfterS: number;
  /** Flat list of what every answer of this request carries. */
  readonly headers: readonly string[];
}

const SENTENCES: Partial<Record<WireReasonName, string>> = {
  malformed_request: "the request is not valid HTTP",
  request_head_timeout: "the request head did not arrive in time",
  unknown_expectation: "the expectation is not supported",
  header_too_large: "the request head is too large",
  no_such_service: "no such service",
  activation_failed: "no pod of this revision can start",
  store_unavailable: "the routing state cannot be reached",
  activator_draining: "this router is stopping",
  queue_timeout: "no slot became free in time",
  activation_timeout: "no pod became ready in time",
  upstream_reset: "the connection to the pod broke before it answered",
  bad_response: "the pod's answer is not valid HTTP",
};

export function platformAnswer(context: AnswerContext): PlatformAnswer {
  const wire: WireReason = WIRE_REASONS[context.reason];
  const message = messageOf(context, wire);
  const headers = [...context.headers, REASON_HEADER, context.reason];
  if (isGrpc(context.contentType)) return grpcAnswer(context, wire, { headers, message });
  if (wire.status === 401) headers.push("www-authenticate", "Bearer");
  if (wire.repeatable) headers.push("retry-after", String(context.retryAfterS));
  if (acceptsJson(context.accept)) {
    headers.push("content-type", "application/json");
    const body = { reason: context.reason, message, request_id: context.requestId };
    return { status: wire.status, headers, body: `${JSON.stringify(body)}\n` };
  }
  headers.push("content-type", "text/plain; charset=utf-8");
  return { status: wire.status, headers, body: endLine(message, wire.status) };
}

/** An answer to a head that could not be read: no request id of the caller's to give back. */
export function refusedHeadAnswer(reason: WireReasonName, requestId: string): PlatformAnswer {
  return platformAnswer({
    reason,
    message: "",
    requestId,
    accept: "",
    contentType: "",
    retryAfterS: 1,
    headers: [REQUEST_ID_HEADER, requestId],
  });
}

/** Named explicitly: a star is every browser and every curl, who want to read a line. */
export function acceptsJson(accept: string): boolean {
  return accept.split(",").some((range) => {
    const [type = ""] = range.split(";");
    return type.trim().toLowerCase() === "application/json";
  });
}

function messageOf(context: AnswerContext, wire: WireReason): string {
  if (context.message !== "") return context.message;
  return wire.stockText ?? SENTENCES[context.reason] ?? context.reason.replaceAll("_", " ");
}

/** Stock Knative ends its lines, except that of a 504. */
function endLine(message: string, status: number): string {
  return status === 504 ? message : `${message}\n`;
}

function grpcAnswer(
  context: AnswerContext,
  wire: WireReason,
  parts: { readonly headers: string[]; readonly message: string },
): PlatformAnswer {
  const { headers, message } = parts;
  headers.push("content-type", "application/grpc", "grpc-status", String(wire.grpcStatus));
  headers.push("grpc-message", encodeGrpcMessage(message));
  if (wire.repeatable && wire.grpcStatus === WIRE_REASONS.queue_full.grpcStatus) {
    headers.push("grpc-retry-pushback-ms", String(context.retryAfterS * 1000));
  }
  return { status: 200, headers, body: "" };
}
