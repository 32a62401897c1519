/** A service as the subscriber of a Trigger at the real broker of Knative Eventing. */
import { EVENTING_NAMESPACE, installEventing } from "../../../scripts/cluster/eventing.ts";
import { applyText, applyWhenTaken, getObject, kubectl } from "../../../scripts/cluster/kubectl.ts";
import { toText } from "../../../scripts/cluster/manifests.ts";
import type { Progress } from "../../../scripts/cluster/progress.ts";
import { pause, waitFor } from "../../../scripts/cluster/waiting.ts";
import { deliveriesTo } from "../rig/processes.ts";
import { NAMESPACE, deploy, podsOf, remove, waitForNone } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

const BROKER = "rig";
const TYPE = "page.read";
/** Who reads the pages, and who gets the answers that go back to the broker. */
const [READER, SHELF] = ["reader", "shelf"];
const TOGETHER = 10;
/** Longer than the broker waits before its first tries of a delivery that it takes for failed. */
const QUIET_MS = 5_000;

export const eventingSteps = (progress: Progress): readonly Step[] => [
  { name: "Knative Eventing is installed and has a broker", run: () => makeBroker(progress) },
  {
    name: "an event starts a Trigger's subscriber from zero, reaches it once, and the answer goes back",
    run: fromZero,
  },
  { name: "events that come together reach a subscriber with one slot once each", run: together },
];

async function makeBroker(progress: Progress): Promise<string> {
  await installEventing(progress);
  const startedAt = performance.now();
  const metadata = { name: BROKER, namespace: NAMESPACE };
  const broker = { apiVersion: "eventing.knative.dev/v1", kind: "Broker", metadata };
  await applyWhenTaken("the broker", toText([broker]));
  await waitForReady("broker", BROKER);
  return `Ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

async function fromZero(): Promise<string> {
  await subscribe(READER, TYPE);
  await subscribe(SHELF, `${TYPE}.answer`);
  await Promise.all([READER, SHELF].map(waitForNone));
  const startedAt = performance.now();
  const { status } = await send("first");
  expect(status === 202, `the broker answered ${status}`);
  await waitForDeliveries(SHELF, ["answer-to-first"]);
  const ms = performance.now() - startedAt;
  await pause(QUIET_MS);
  onceEach(READER, ["first"]);
  onceEach(SHELF, ["answer-to-first"]);
  return `through two services from zero in ${(ms / 1000).toFixed(2)} s`;
}

async function together(): Promise<string> {
  await Promise.all([READER, SHELF].map(waitForNone));
  const ids = Array.from({ length: TOGETHER }, (_, index) => `together-${index}`);
  const answers = await Promise.all(ids.map(send));
  const refused = answers.filter(({ status }) => status !== 202).length;
  expect(refused === 0, `the broker refused ${refused}`);
  const replies = ids.map((id) => `answer-to-${id}`);
  await waitForDeliveries(SHELF, replies);
  const most = (await podsOf(READER)).length;
  await pause(QUIET_MS);
  onceEach(READER, ids);
  onceEach(SHELF, replies);
  await kubectl("delete", "trigger", READER, SHELF, "-n", NAMESPACE);
  await kubectl("delete", "broker", BROKER, "-n", NAMESPACE);
  await remove(READER, SHELF);
  return `${ids.length} events and as many answers, each once, on ${most} pods`;
}

/** A service at zero, and a Trigger that names it by its kind, as users do. */
async function subscribe(name: string, type: string): Promise<void> {
  await deploy({
    name,
    concurrency: 1,
    annotations: { class: CLASS.pilotlight, "initial-scale": "0", "max-scale": "4", window: "10s" },
  });
  const ref = { apiVersion: "serving.knative.dev/v1", kind: "Service", name };
  const trigger = {
    apiVersion: "eventing.knative.dev/v1",
    kind: "Trigger",
    metadata: { name, namespace: NAMESPACE },
    spec: { broker: BROKER, filter: { attributes: { type } }, subscriber: { ref } },
  };
  await applyText(toText([trigger]));
  await waitForReady("trigger", name);
}

async function waitForReady(kind: string, name: string): Promise<void> {
  interface Conditions {
    readonly status?: {
      readonly conditions?: readonly {
        readonly type: string;
        readonly status: string;
        readonly message?: string;
      }[];
    };
  }
  await waitFor(
    `${kind} ${name} Ready`,
    async () => {
      const { status } = (await getObject<Conditions>(kind, name, "-n", NAMESPACE)) ?? {};
      const conditions = status?.conditions ?? [];
      if (conditions.some((one) => one.type === "Ready" && one.status === "True")) return true;
      throw new Error(conditions.map(({ type, message = "" }) => `${type} ${message}`).join(", "));
    },
    { timeoutMs: 120_000, everyMs: 250 },
  );
}

/** Posts an event to the broker as a producer in the cluster would; its first takes some seconds. */
async function send(id: string): Promise<Response> {
  const where = ["-n", EVENTING_NAMESPACE, "-o", "jsonpath={.spec.clusterIP}"];
  const address = await kubectl("get", "service", "broker-ingress", ...where);
  return fetch(`http://${address}/${NAMESPACE}/${BROKER}`, {
    method: "POST",
    headers: {
      "ce-specversion": "1.0",
      "ce-id": id,
      "ce-type": TYPE,
      "ce-source": "/rig",
      "content-type": "application/json",
    },
    body: JSON.stringify({ page: id }),
    signal: AbortSignal.timeout(60_000),
  });
}

async function waitForDeliveries(service: string, ids: readonly string[]): Promise<void> {
  await waitFor(
    `${ids.length} events at ${service}`,
    async () => {
      const there = new Set(deliveriesTo(service));
      const missing = ids.filter((id) => !there.has(id));
      if (missing.length === 0) return true;
      throw new Error(`${missing.join(", ")} did not arrive`);
    },
    { timeoutMs: 120_000, everyMs: 100 },
  );
}

function onceEach(service: string, ids: readonly string[]): void {
  const all = deliveriesTo(service);
  const wrong = ids.filter((id) => all.filter((one) => one === id).length !== 1);
  expect(wrong.length === 0, `${service} got ${wrong.join(", ")} not exactly once`);
}
