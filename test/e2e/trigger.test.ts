/**
 * Services as subscribers of Knative Triggers, by what is on the wire: both modes of an event, the
 * reply, refusals of the container and of the platform that are sent again, and ordered delivery.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPlatform } from "../../local/main.ts";
import type { Platform } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import { STRUCTURED_TYPE, deliver } from "../support/trigger.ts";
import type { Delivery, TriggerEvent } from "../support/trigger.ts";

const APP = fileURLToPath(new URL("../fixtures/local/events.mjs", import.meta.url));
const LIMIT_MS = 60_000;

const service = (name: string, extra: string, slots: number): string => `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: ${name} }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        autoscaling.knative.dev/max-scale: "1"
        ${extra}
        pilotlight.dev/local-command: node ${APP}
    spec:
      containerConcurrency: ${slots}
      containers: [{ image: x }]
---`;

let folder = "";
let platform: Platform;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-trigger-"));
  const file = join(folder, "service.yaml");
  const narrow = service("narrow", 'pilotlight.dev/queue-depth: "1"', 1);
  const wide = service("events", "pilotlight.dev/async: enabled", 10);
  await writeFile(file, `${wide}${narrow}${service("ordered", "pilotlight.dev/cooldown: 1m", 1)}`);
  platform = await startPlatform({ files: [file], port: 0, runFolder: join(folder, "run") });
}, LIMIT_MS);

afterAll(async () => {
  await platform?.stop(0);
  await rm(folder, { recursive: true, force: true });
});

const hostOf = (name: string): string => `${name}.default.localhost`;

const send = (name: string, event: TriggerEvent): Promise<Delivery> =>
  deliver(new URL(platform.urls.ingress), hostOf(name), event);

async function logOf(name: string): Promise<readonly { id: string; status: number }[]> {
  const { body } = await callService(platform.urls.ingress, hostOf(name), { path: "/log" });
  return JSON.parse(body) as { id: string; status: number }[];
}

describe("the subscriber of a Trigger", () => {
  it(
    "is started from zero by an event in binary mode, and replies with one",
    async () => {
      const { statuses, headers, body } = await send("events", { id: "b-1", type: "page.read" });
      expect(statuses).toEqual([200]);
      expect(headers).toMatchObject({
        "ce-specversion": "1.0",
        "ce-id": "answer-to-b-1",
        "ce-type": "page.read.answer",
        "ce-source": "/fixture",
      });
      const { seen } = JSON.parse(body) as { readonly seen: Readonly<Record<string, string>> };
      expect(seen).toMatchObject({
        "ce-id": "b-1",
        "ce-knativearrivaltime": "2026-01-01T00:00:00.1Z",
        // Of Eventing, and no wish for an asynchronous answer although the service offers one.
        prefer: "reply",
      });
      expect(seen["traceparent"]).toContain("0af7651916cd43dd8448eb211c80319c");
    },
    LIMIT_MS,
  );

  it(
    "gets an event in structured mode byte for byte, and its structured reply goes back",
    async () => {
      const event: TriggerEvent = { id: "s-1", type: "page.read", mode: "structured" };
      const { statuses, headers, body, sent } = await send("events", event);
      expect(statuses).toEqual([200]);
      expect(headers["content-type"]).toBe(STRUCTURED_TYPE.toLowerCase());
      expect(Object.keys(headers).filter((name) => name.startsWith("ce-"))).toEqual([]);
      expect(JSON.parse(body)).toMatchObject({ id: "answer-to-s-1", type: "page.read.answer" });
      expect((JSON.parse(body) as { data: { body: string } }).data.body).toBe(sent);
    },
    LIMIT_MS,
  );

  it(
    "may answer with nothing",
    async () => {
      const { statuses, headers, body } = await send("events", { id: "d-1", type: "page.dropped" });
      expect([statuses, body]).toEqual([[202], ""]);
      expect(Object.keys(headers).filter((name) => name.startsWith("ce-"))).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    "is asked again after its own 429 and 503, which pass unchanged",
    async () => {
      const { statuses, headers } = await send("events", { id: "f-1", type: "page.flaky" });
      expect(statuses).toEqual([429, 503, 200]);
      expect(headers["ce-id"]).toBe("answer-to-f-1");
      const seen = (await logOf("events")).filter(({ id }) => id === "f-1");
      expect(seen.map(({ status }) => status)).toEqual([429, 503, 200]);
    },
    LIMIT_MS,
  );

  it(
    "gets each event once when the platform refuses some because the queue is full",
    async () => {
      await send("narrow", { id: "first", type: "page.read" });
      const ids = Array.from({ length: 5 }, (_, index) => `n-${index}`);
      const deliveries = await Promise.all(
        ids.map((id) => send("narrow", { id, type: "page.read", path: "/?ms=300" })),
      );
      expect(deliveries.map(({ statuses }) => statuses.at(-1))).toEqual([200, 200, 200, 200, 200]);
      // One runs and one waits; the others were told to come again.
      const refused = deliveries.flatMap(({ statuses }) => statuses.slice(0, -1));
      expect(refused.length).toBeGreaterThan(0);
      expect(new Set(refused)).toEqual(new Set([503]));
      const seen = (await logOf("narrow")).map(({ id }) => id).filter((id) => ids.includes(id));
      expect(seen.toSorted()).toEqual(ids);
    },
    LIMIT_MS,
  );

  it(
    "gets events in order, through its cold start and a refusal, from one that sends in order",
    async () => {
      const events = ["1", "2", "3", "4", "5", "6"].map((id) => ({
        id,
        type: id === "3" ? "page.flaky" : "page.read",
      }));
      for (const event of events) await send("ordered", event);
      const seen = await logOf("ordered");
      expect(seen.map(({ id }) => id)).toEqual(["1", "2", "3", "3", "3", "4", "5", "6"]);
    },
    LIMIT_MS,
  );
});
