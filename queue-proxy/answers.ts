/** The sidecar's own answers, in stock Knative's words where it has some. */
import { encodeGrpcMessage, isGrpc } from "../common/contracts/grpc.ts";
import { REASON_HEADER } from "../common/contracts/headers.ts";
import type { WireReasonName } from "../common/contracts/wire-reasons.ts";
import { WIRE_REASONS } from "../common/contracts/wire-reasons.ts";
import type { OwnAnswer, RequestHead } from "../proxy/types.ts";
import type { Marks } from "./core/classify.ts";

/** Stock texts of this hop where they differ from those of the activator. */
const TEXTS: Partial<Record<WireReasonName, string>> = {
  queue_full: "pending request queue full\n",
  response_timeout: "request timeout",
  response_start_timeout: "request timeout",
};

const PLAIN = ["Content-Type", "text/plain; charset=utf-8", "X-Content-Type-Options", "nosniff"];
/** Stock says no more than that it is full; one second is when a caller may look again. */
const RETRY_AFTER_SECONDS = "1";

/** A bare answer, as probes get it. */
export function plainAnswer(status: number, body: string): OwnAnswer {
  return { status, headers: PLAIN, body };
}

/** An answer with its reason to whoever is in front: our activator, or a client of stock Knative. */
export function reasonAnswer(reason: WireReasonName, message: string): OwnAnswer {
  const { status, repeatable } = WIRE_REASONS[reason];
  const retry = repeatable ? ["Retry-After", RETRY_AFTER_SECONDS] : [];
  return {
    status,
    headers: [...PLAIN, REASON_HEADER, reason, ...retry],
    body: TEXTS[reason] ?? `${message}\n`,
  };
}

/** The same for a caller that may speak gRPC or want JSON: one that did not come by our activator. */
export function callerAnswer(
  head: RequestHead,
  marks: Pick<Marks, "contentType" | "accept">,
  { reason, message }: { readonly reason: WireReasonName; readonly message: string },
): OwnAnswer {
  const { status } = WIRE_REASONS[reason];
  if (head.httpVersion === "2" && isGrpc(marks.contentType ?? "")) {
    return grpcAnswer(reason, message);
  }
  const answer = reasonAnswer(reason, message);
  if (marks.accept?.includes("application/json") !== true) return answer;
  return {
    status,
    headers: ["Content-Type", "application/json", ...answer.headers.slice(2)],
    body: JSON.stringify({ reason, message }),
  };
}

/** Trailers-only: the status is all that the answer has. */
function grpcAnswer(reason: WireReasonName, message: string): OwnAnswer {
  const { grpcStatus, repeatable } = WIRE_REASONS[reason];
  const headers = ["content-type", "application/grpc", REASON_HEADER, reason];
  headers.push("grpc-status", String(grpcStatus), "grpc-message", encodeGrpcMessage(message));
  if (repeatable)
    headers.push("grpc-retry-pushback-ms", String(Number(RETRY_AFTER_SECONDS) * 1_000));
  return { status: 200, headers, body: "" };
}
