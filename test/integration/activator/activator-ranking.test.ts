/** Calls with a rank: what the store, the pod and the caller are told of them, and what becomes of it. */
import type { IncomingHttpHeaders } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { parseCallNote } from "../../../common/contracts/call-note.ts";
import { decodeLogEntry } from "../../../common/contracts/call-log.ts";
import { parseOrderHeader } from "../../../common/urgency.ts";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activator: BenchActivator;
let pod: StubPod;
let seen: IncomingHttpHeaders[];

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure({ policy: "speed-aware", queueOrder: "urgency", sloMs: 60_000 });
  activator = await bench.activator();
  pod = await bench.pod();
  seen = [];
  pod.onRequest = (headers) => seen.push(headers);
  await pod.register(activator.push, "ready");
});
afterEach(() => bench.close());

const WORKFLOW = {
  "x-workflow-id": "q-1",
  "x-workflow-class": "text2sql",
  "x-workflow-stage": "revise",
  "x-workflow-stage-index": "0",
  "content-type": "application/json",
};

function ask(headers: Readonly<Record<string, string>> = {}, query = ""): Promise<Reply> {
  const body = JSON.stringify({ model: "m", prompt: "x".repeat(396), max_tokens: 50 });
  const all = { ...WORKFLOW, ...headers };
  return call(activator.dataUrl, `/v1/completions${query}`, {
    method: "POST",
    headers: all,
    body,
  });
}

it("tells the pod size, names, order and deadline, and keeps the log of the call", async () => {
  const before = Date.now();
  expect((await ask({ "x-workflow-final": "true" })).status).toBe(200);
  const told = seen[0] ?? {};
  expect(parseCallNote(String(told["pilotlight-call"]))).toMatchObject({
    promptTokens: 102,
    characters: 396,
    model: "m",
    stage: "revise",
    workflowClass: "text2sql",
  });
  const deadlineAt = Number(told["x-workflow-deadline-ms"]);
  expect(deadlineAt - before).toBeGreaterThan(59_000);
  expect(deadlineAt - before).toBeLessThan(75_000);
  const order = parseOrderHeader(String(told["pilotlight-order"]));
  expect(order?.orderClass).toBe(0);
  expect(order?.key).toBeLessThanOrEqual(deadlineAt);
  const { knowledge } = bench.handle;
  const entry = await eventually(async () => {
    const { entries } = await knowledge.readCalls(REVISION, "0", 10);
    return entries.map(decodeLogEntry).find((found) => found?.kind === "call");
  });
  expect(entry).toMatchObject({
    workflow: "q-1",
    stage: "revise",
    isFinal: true,
    sloUs: 60_000_000,
    status: 200,
  });
  const [recent] = await knowledge.recentWorkflows(5);
  expect(recent).toMatchObject({ namespace: "default", id: "q-1", workflowClass: "text2sql" });
});

it("opens and closes the calls of a workflow, stage after stage", async () => {
  await ask({ "x-workflow-slo-ms": "5000" });
  await ask({ "x-workflow-stage": "tester", "x-workflow-stage-index": "1" });
  const workflow = { namespace: "default", tenant: "", id: "q-1" };
  const view = await eventually(async () => {
    const found = await bench.handle.workflows.readWorkflow(workflow);
    return found?.open === 0 && found.stages.length === 2 ? found : undefined;
  });
  expect(view?.sloUs).toBe(5_000_000);
  expect(view?.stages.map(({ stage }) => stage)).toEqual(["revise", "tester"]);
  expect(view?.lastTarget).toBe(pod.uid);
});

it("keeps a revision loop on the pod that holds its prompt, through another activator too", async () => {
  const profile = { prefillTokensPerS: 1_000, tokenUs: 10_000, batchSlope: 0 };
  const card = { profile, calls: 50, error: 0, routesUs: {}, cachedShare: 0.5 };
  const learnt = { cards: { default: card }, charsPerToken: {}, pool: { default: 3 }, alpha: null };
  await bench.handle.knowledge.writeKnowledge(REVISION, JSON.stringify(learnt));
  const others = await Promise.all([bench.pod(), bench.pod()]);
  for (const other of others) await other.register(activator.push, "ready");
  const ran: string[] = [];
  for (const each of [pod, ...others]) each.onRequest = () => ran.push(each.uid);
  const second = await bench.activator({ PILOTLIGHT_ACTIVATOR_ID: "second" });
  for (const url of [activator.dataUrl, second.dataUrl]) {
    // Until it has read what is known of the card: a call of unknown cost counts a second.
    await eventually(async () => (await reviseAt(url, 0, "first look")) > 2_000);
  }
  ran.length = 0;
  // One pod is busy, so that the loop begins on another one than its age would say.
  const busy = reviseAt(activator.dataUrl, 0, "busy");
  await eventually(() => ran.length === 1);
  await reviseAt(activator.dataUrl, 0, "loop");
  await busy;
  const [, home] = ran;
  const key = { namespace: "default", tenant: "", id: "loop" };
  for (const index of [1, 2, 3, 4]) {
    await eventually(async () => (await bench.handle.workflows.readWorkflow(key))?.open === 0);
    await reviseAt(index % 2 === 0 ? activator.dataUrl : second.dataUrl, index, "loop");
  }
  expect(ran.slice(1)).toEqual([home, home, home, home, home]);
  expect(home).not.toBe(ran[0]);
});

/** A long prompt, the same in each round of a loop but for its end; answers the expected ms. */
async function reviseAt(url: string, index: number, id: string): Promise<number> {
  const prompt = `Mend this SQL of ${id}. `.repeat(900) + String(index);
  const body = JSON.stringify({ model: "m", prompt, max_tokens: 50 });
  const headers = {
    ...WORKFLOW,
    "x-workflow-stage-index": String(index),
    "x-workflow-id": id,
    "pilotlight-debug": "true",
  };
  const path = `/v1/completions${id === "busy" ? "?ms=600" : ""}`;
  const reply = await call(url, path, { method: "POST", headers, body });
  expect(reply.status).toBe(200);
  return Number(reply.headers["x-sched-est-ms"]);
}

it("says what it did not understand, serves the call all the same, and tells its schedule on request", async () => {
  const plain = await ask({ "x-workflow-slo-ms": "soon", "x-workflow-fanout": "3/2" });
  expect(plain.status).toBe(200);
  expect(plain.headers["pilotlight-warning"]).toBe("ignored: x-workflow-fanout, x-workflow-slo-ms");
  expect(plain.headers["x-sched-est-ms"]).toBeUndefined();
  const debugged = await ask({ "pilotlight-debug": "true", "x-workflow-id": "q-2" });
  expect(debugged.headers["pilotlight-warning"]).toBeUndefined();
  expect(Number(debugged.headers["x-sched-queue-ms"])).toBeGreaterThanOrEqual(0);
  expect(Number(debugged.headers["x-sched-latest-start-ms"])).toBeGreaterThan(Date.now());
});

it("believes the tenant of a trusted gateway, and removes it from everybody else", async () => {
  await ask({ "x-tenant-id": "acme" });
  expect(seen[0]).toMatchObject({
    "x-tenant-id": "acme",
    "pilotlight-tenant": "acme",
  });
  const strict = await bench.activator({
    PILOTLIGHT_ACTIVATOR_ID: "strict",
    PILOTLIGHT_TRUSTED_GATEWAYS: "10.0.0.0/8",
  });
  const headers = { ...WORKFLOW, "x-tenant-id": "acme", "pilotlight-tenant": "acme" };
  await call(strict.dataUrl, "/v1/completions", { method: "POST", headers, body: "{}" });
  const told = seen[1] ?? {};
  expect([told["x-tenant-id"], told["pilotlight-tenant"]]).toEqual([undefined, undefined]);
  const theirs = { namespace: "default", tenant: "acme", id: "q-1" };
  expect((await bench.handle.workflows.readWorkflow(theirs))?.stages).toHaveLength(1);
});

it("refuses a call that asked not to be late, once that is certain, and serves one that did not ask", async () => {
  const late = { "x-workflow-deadline-ms": String(Date.now() - 1_000) };
  const refused = await ask({ ...late, "pilotlight-reject-late": "true" });
  expect(refused.status).toBe(503);
  expect(refused.headers["pilotlight-reason"]).toBe("deadline_unreachable");
  expect(refused.headers["retry-after"]).toBeDefined();
  expect(seen).toHaveLength(0);
  expect((await ask({ ...late, "x-workflow-id": "q-2" })).status).toBe(200);
});

it("refuses such a call while it waits, when its time has passed", async () => {
  const running = ask({ "x-workflow-id": "q-0" }, "?ms=1500");
  await eventually(() => seen.length === 1);
  const startedAt = performance.now();
  const refused = await ask({ "x-workflow-slo-ms": "300", "pilotlight-reject-late": "true" });
  expect(refused.headers["pilotlight-reason"]).toBe("deadline_unreachable");
  expect(performance.now() - startedAt).toBeGreaterThan(200);
  expect(await bench.waiting()).toBe(0);
  expect((await running).status).toBe(200);
  expect(seen).toHaveLength(1);
});

it("leaves a request of a service that ranks nothing as it is", async () => {
  await bench.configure({});
  const added = ["pilotlight-call", "pilotlight-order", "x-workflow-deadline-ms"];
  await eventually(async () => {
    expect((await call(activator.dataUrl, "/plain")).status).toBe(200);
    return added.every((name) => seen.at(-1)?.[name] === undefined);
  });
});
