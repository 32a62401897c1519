/**
 * Asynchronous runs as processes and people see them: their path on a service's own URL, their
 * states, and the request that is kept until a run has ended.
 */
import type { RevisionKey } from "./routing.ts";

/** The state of a run is read at this path and its id, on the URL of its service. */
export const RUNS_PATH = "/.well-known/gpu-runs/";
/** Behind the id: the answer itself, as long as it is kept. */
export const ANSWER_SUFFIX = "/answer";

export const RUN_STATES = [
  "queued",
  "running",
  "success",
  "failure",
  "unknown",
  "expired",
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** `pending`: the answer is on its way to a webhook. */
export const DELIVERY_STATES = ["none", "pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** `namespace/name` of a service; all its runs lie together. */
export type ServiceKey = `${string}/${string}`;

/** What is stored of the call beside its headers and body, so that any activator can make it. */
export interface RunRequest {
  readonly revision: RevisionKey;
  readonly host: string;
  readonly method: string;
  /** Without the parameters that are ours. */
  readonly target: string;
  readonly httpVersion: "1.0" | "1.1" | "2";
  readonly remoteAddress: string;
  /** ms that the run may take from the slot on. */
  readonly runMs: number;
  readonly webhook: WebhookTarget | null;
}

/** What may open doors: kept apart, and only until the run and its delivery are over. */
export interface RunSecrets {
  /** Flat list as received, without what must not reach the container. */
  readonly headers: readonly string[];
  /** Key of the webhook's signature; empty for none. */
  readonly webhookSecret: string;
}

export interface WebhookTarget {
  readonly url: string;
  readonly format: WebhookFormat;
  /** Patterns of `webhook-hosts` as they stood when the call came. */
  readonly hosts: readonly string[];
}

/** `plain`: the answer as it is; `cloudevents`: with the attributes of an event around it. */
export const WEBHOOK_FORMATS = ["plain", "cloudevents"] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** What is kept of an answer beside its body. */
export interface AnswerFacts {
  /** Flat list: content type, and `ce-` attributes where the container sent an event. */
  readonly headers: readonly string[];
  /** The body was larger than what is kept or delivered. */
  readonly omitted: boolean;
}

/** A run as the store has it; instants in ms of the server's time, 0 for not yet. */
export interface RunRecord {
  readonly id: string;
  readonly state: RunState;
  readonly owner: string;
  readonly acceptedAt: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly status: number;
  readonly attempts: number;
  readonly limitMs: number;
  readonly delivery: DeliveryState;
  readonly deliveries: number;
  /** Bytes kept: of the request's body, after the end of the answer's. */
  readonly bytes: number;
  readonly answer: AnswerFacts | null;
  readonly request: RunRequest;
}
