/**
 * The delivery of an answer: its headers and signature, and what the outcome of an attempt means.
 * Pure; the sending is in `webhook-sender.ts`.
 */
import { createHmac } from "node:crypto";
import type { AnswerFacts, ServiceKey, WebhookTarget } from "../../common/contracts/async-runs.ts";
import {
  REQUEST_ID_HEADER,
  WEBHOOK_OMITTED_HEADER,
  WEBHOOK_SIGNATURE_HEADER,
  WEBHOOK_STATUS_HEADER,
  WEBHOOK_TIMESTAMP_HEADER,
} from "../../common/contracts/headers.ts";

export const MAX_TRIES = 3;
/** Pauses before the second and the third attempt. */
export const PAUSES_MS = [1_000, 5_000] as const;

const EVENT_TYPE = "dev.pilotlight.run.finished";

export interface Delivery {
  readonly runId: string;
  readonly service: ServiceKey;
  readonly target: WebhookTarget;
  /** Of the call, 0 when it had none. */
  readonly status: number;
  readonly answer: AnswerFacts;
  readonly body: Buffer;
  /** Empty: no signature. */
  readonly secret: string;
  /** ms since the epoch. */
  readonly endedAt: number;
}

/** Signed anew for each attempt. `now` in ms since the epoch. */
export function deliveryHeaders(delivery: Delivery, now: number): Record<string, string> {
  const { runId, target, answer, body, secret, status } = delivery;
  const timestamp = String(Math.floor(now / 1_000));
  const headers: Record<string, string> = { "user-agent": "pilotlight" };
  for (let at = 0; at + 1 < answer.headers.length; at += 2) {
    headers[(answer.headers[at] ?? "").toLowerCase()] = answer.headers[at + 1] ?? "";
  }
  if (target.format === "cloudevents") addEvent(headers, delivery);
  headers["content-length"] = String(body.length);
  headers[REQUEST_ID_HEADER] = runId;
  headers[WEBHOOK_STATUS_HEADER] = String(status);
  headers[WEBHOOK_TIMESTAMP_HEADER] = timestamp;
  if (answer.omitted) headers[WEBHOOK_OMITTED_HEADER] = "too_large";
  if (secret !== "") {
    headers[WEBHOOK_SIGNATURE_HEADER] = signatureOf({ secret, runId, timestamp, body });
  }
  return headers;
}

export function signatureOf(parts: {
  readonly secret: string;
  readonly runId: string;
  readonly timestamp: string;
  readonly body: Buffer;
}): string {
  const { secret, runId, timestamp, body } = parts;
  const hmac = createHmac("sha256", secret).update(`${runId}.${timestamp}.`).update(body);
  return `v1,${hmac.digest("hex")}`;
}

/** An event that the container itself answered keeps its attributes. */
function addEvent(headers: Record<string, string>, delivery: Delivery): void {
  if (headers["ce-specversion"] !== undefined) return;
  const [namespace = "", name = ""] = delivery.service.split("/");
  headers["ce-specversion"] = "1.0";
  headers["ce-id"] = delivery.runId;
  headers["ce-type"] = EVENT_TYPE;
  headers["ce-source"] = `/apis/serving.knative.dev/v1/namespaces/${namespace}/services/${name}`;
  headers["ce-time"] = new Date(delivery.endedAt).toISOString();
}

export type TryOutcome =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "refused-address"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** A receiver that is not there yet is asked again; one that refuses or fails is not. */
export function judgeTry(outcome: TryOutcome): "delivered" | "again" | "given-up" {
  if (outcome.kind === "failed") return "again";
  if (outcome.kind === "refused-address") return "given-up";
  const { status } = outcome;
  if (status >= 200 && status < 300) return "delivered";
  return status < 400 || status === 404 ? "again" : "given-up";
}
