/** Calls that wait in a pod: their order, what the engine has room for, handing back, measuring. */
import http from "node:http";
import { afterEach, beforeEach, expect, it } from "vitest";
import { formatCallNote } from "../../../common/contracts/call-note.ts";
import { eventually } from "../../support/eventually.ts";
import type { HandEngine } from "../../support/hand-engine.ts";
import { startHandEngine } from "../../support/hand-engine.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";
import type { PushReceiver } from "../../support/queue-proxy-receiver.ts";
import { startPushReceiver } from "../../support/queue-proxy-receiver.ts";

let engine: HandEngine;
let receives: PushReceiver;
let sidecar: SidecarProcess;

beforeEach(async () => {
  receives = await startPushReceiver();
  receives.answer = { reply: { localQueue: 4, starvationLimitMs: 60_000 } };
  engine = await startHandEngine();
  sidecar = await startSidecar({
    userPort: engine.port,
    activators: [receives.endpoint],
    env: { CONTAINER_CONCURRENCY: "8", SERVING_READINESS_PROBE: "" },
  });
  await eventually(() => receives.last?.state === "ready");
});

afterEach(async () => {
  await sidecar.stop();
  await engine.stop();
  await receives.stop();
});

async function report(state: object): Promise<void> {
  const answer = await sidecar.request("/state", {
    method: "PUT",
    port: 8_022,
    via: "foreign",
    body: JSON.stringify(state),
  });
  expect(answer.status).toBe(204);
}

function call(name: string, order: string, promptTokens = 10) {
  const note = { promptTokens, serviceUs: 2_000_000, characters: 40, messages: 1 };
  const names = { model: "m", stage: "revise", workflowClass: "text2sql" };
  return sidecar.request(`/${name}`, {
    body: "{}",
    headers: {
      "pilotlight-lease": `lease-${name}`,
      "pilotlight-order": order,
      "pilotlight-tenant": "acme",
      "pilotlight-call": formatCallNote({ ...note, ...names }),
    },
  });
}

async function waiting(count: number): Promise<void> {
  await eventually(async () => {
    const page = await sidecar.request("/metrics", { port: 9_091 });
    return page.body.includes(`waiting_requests ${count}\n`);
  });
}

it("keeps calls while the engine has one that has not begun, and sends the most urgent next", async () => {
  await report({ running: 0, waiting: 0, kvFreeTokens: 100 });
  const first = call("first", "0;500;1");
  await eventually(() => engine.started.length === 1);
  const late = call("late", "0;900;2");
  await waiting(1);
  const soon = call("soon", "0;100;3");
  await waiting(2);
  await report({ running: 1, waiting: 0, kvFreeTokens: 90 });
  await eventually(() => engine.started.length === 2);
  expect(engine.started).toEqual(["first", "soon"]);
  await report({ running: 2, waiting: 0, kvFreeTokens: 80 });
  await eventually(() => engine.started.length === 3);
  for (const name of ["first", "soon", "late"]) engine.finish(name);
  expect((await Promise.all([first, soon, late])).map(({ status }) => status)).toEqual([
    200, 200, 200,
  ]);
});

it("lets a short call pass a long one that finds no room in the cache", async () => {
  await report({ running: 0, waiting: 0, kvFreeTokens: 100 });
  const first = call("first", "0;1;1", 50);
  await eventually(() => engine.started.length === 1);
  const long = call("long", "0;2;2", 80);
  await waiting(1);
  const short = call("short", "0;3;3", 20);
  await waiting(2);
  await report({ running: 1, waiting: 0, kvFreeTokens: 50 });
  await eventually(() => engine.started.length === 2);
  expect(engine.started).toEqual(["first", "short"]);
  engine.finish("first");
  engine.finish("short");
  await Promise.all([first, short]);
  await report({ running: 0, waiting: 0, kvFreeTokens: 100 });
  await eventually(() => engine.started.length === 3);
  engine.finish("long");
  expect((await long).status).toBe(200);
});

it("hands a waiting call back when asked, and never one that runs", async () => {
  await report({ running: 0, waiting: 0 });
  const running = call("running", "0;1;1");
  await eventually(() => engine.started.length === 1);
  const held = call("held", "0;2;2");
  await waiting(1);
  const ask = (name: string) =>
    sidecar.request("/", { headers: { "pilotlight-return": `lease-${name}` } });
  expect((await ask("running")).status).toBe(404);
  expect((await ask("unknown")).status).toBe(404);
  expect((await ask("held")).status).toBe(200);
  const back = await held;
  expect([back.status, back.headers["pilotlight-reason"]]).toEqual([503, "handed_back"]);
  expect((await ask("held")).status).toBe(404);
  engine.finish("running");
  expect((await running).status).toBe(200);
  expect(engine.started).toEqual(["running"]);
});

it("says 100 only when the call goes to the container", async () => {
  await report({ running: 0, waiting: 0 });
  const running = call("running", "0;1;1");
  await eventually(() => engine.started.length === 1);
  let continued = 0;
  const outgoing = http.request({
    host: sidecar.ip,
    localAddress: sidecar.ip,
    port: 8_012,
    path: "/held",
    method: "POST",
    headers: {
      "pilotlight-target-uid": sidecar.uid,
      "pilotlight-lease": "lease-held",
      "pilotlight-order": "0;2;2",
      "content-length": "2",
      expect: "100-continue",
    },
  });
  outgoing.on("continue", () => {
    continued += 1;
    outgoing.end("{}");
  });
  // Its end is cut short by the test.
  outgoing.on("error", () => undefined);
  outgoing.flushHeaders();
  await waiting(1);
  expect(continued).toBe(0);
  engine.finish("running");
  await running;
  await report({ running: 0, waiting: 0 });
  await eventually(() => continued === 1);
  await eventually(() => engine.started.length === 2);
  outgoing.destroy();
});

it("reports what a call turned out to be, what waits, and the room of the engine", async () => {
  await report({ running: 0, waiting: 0, kvFreeTokens: 70 });
  const first = call("first", "0;1;1");
  await eventually(() => engine.started.length === 1);
  const held = call("held", "0;2;2");
  const busy = await receives.seen((push) => push.localWaiting === 1);
  expect(busy).toMatchObject({ localWorkUs: 2_000_000, batch: 0 });
  // A call that finds no room in the cache may wait here: dispatch need not pass this pod over.
  expect(busy.kvFreeTokens).toBeUndefined();
  engine.finish("first", { prompt_tokens: 12, completion_tokens: 7 });
  await first;
  await report({ running: 0, waiting: 0 });
  const told = await receives.seen((push) => (push.samples?.length ?? 0) > 0);
  expect(told.samples?.[0]).toMatchObject({
    model: "m",
    stage: "revise",
    workflowClass: "text2sql",
    promptTokens: 12,
    outputTokens: 7,
    characters: 40,
    firstMs: 0,
    meanBatch: 1,
  });
  expect(told.samples?.[0]?.totalMs).toBeGreaterThan(0);
  await eventually(() => engine.started.length === 2);
  engine.finish("held");
  await held;
});

it("tells dispatch of the room of its engine where calls may not wait here", async () => {
  receives.answer = {};
  await receives.seen((push) => push.kind === "heartbeat");
  await report({ running: 0, waiting: 0, kvFreeTokens: 70 });
  await receives.seen((push) => push.kvFreeTokens === 70);
  await report({ running: 1, waiting: 0, kvFreeTokens: 40 });
  const told = await receives.seen((push) => push.kvFreeTokens === 40);
  expect(told.kind).toBe("change");
});

it("refuses a call beyond the depth of its queue", async () => {
  await report({ running: 0, waiting: 0 });
  const first = call("first", "0;1;1");
  await eventually(() => engine.started.length === 1);
  const held = [2, 3, 4, 5].map((key) => call(`held-${key}`, `0;${key};${key}`));
  await waiting(4);
  const refused = await call("refused", "0;0;9");
  expect([refused.status, refused.headers["pilotlight-reason"]]).toEqual([503, "pod_full"]);
  sidecar.child.kill("SIGTERM");
  const back = await Promise.all(held);
  expect(back.map(({ headers }) => headers["pilotlight-reason"])).toEqual(
    Array.from({ length: 4 }, () => "draining"),
  );
  engine.finish("first");
  expect((await first).status).toBe(200);
});
