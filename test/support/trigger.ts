/**
 * The sending side of a Knative Trigger on the wire: an event by POST in either mode, with the marks
 * that a broker adds, sent again on the statuses on which Knative's dispatcher sends again.
 */
import { request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

export interface TriggerEvent {
  readonly id: string;
  readonly type: string;
  readonly mode?: "binary" | "structured";
  readonly path?: string;
}

export interface Delivery {
  /** Of each attempt, the last one included. */
  readonly statuses: readonly number[];
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** What was sent. */
  readonly sent: string;
}

export const STRUCTURED_TYPE = "application/cloudevents+json; charset=UTF-8";
const DATA = { page: 1 };
/** As `SelectiveRetry` of Knative Eventing. */
const RETRIED = [404, 408, 409, 429];
const MOST_ATTEMPTS = 10;
const BACK_OFF_MS = 100;

export async function deliver(
  subscriber: URL,
  host: string,
  event: TriggerEvent,
): Promise<Delivery> {
  const { headers, body } = messageOf(event);
  const statuses: number[] = [];
  for (;;) {
    const answer = await post(subscriber, event.path ?? "/", { ...headers, host }, body);
    statuses.push(answer.status);
    const isRetried = answer.status >= 500 || RETRIED.includes(answer.status);
    if (!isRetried || statuses.length === MOST_ATTEMPTS) return { ...answer, statuses, sent: body };
    await delay(BACK_OFF_MS * statuses.length);
  }
}

function messageOf({ id, type, mode = "binary" }: TriggerEvent): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const attributes = {
    specversion: "1.0",
    id,
    type,
    source: "/test",
    time: "2026-01-01T00:00:00Z",
    knativearrivaltime: "2026-01-01T00:00:00.1Z",
  };
  const common = {
    prefer: "reply",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
  };
  if (mode === "structured") {
    const body = JSON.stringify({ ...attributes, datacontenttype: "application/json", data: DATA });
    return { headers: { ...common, "content-type": STRUCTURED_TYPE }, body };
  }
  const marks = Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]);
  const headers = { ...common, "content-type": "application/json", ...Object.fromEntries(marks) };
  return { headers, body: JSON.stringify(DATA) };
}

function post(
  { hostname, port }: URL,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const options = { hostname, port, path, method: "POST", agent: false, headers };
    const outgoing = request(options, (response) => {
      const { statusCode: status = 0, headers: given } = response;
      text(response).then((answer) => resolve({ status, headers: given, body: answer }), reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
