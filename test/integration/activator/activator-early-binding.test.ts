/**
 * Early binding through a real activator, real sidecars and the store: a call that only waited in a
 * pod goes to one that is idle, or leaves a pod that is lost, and runs exactly once.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { PodIdentity } from "../../../activator/pod-identity.ts";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import type { HandEngine } from "../../support/hand-engine.ts";
import { startHandEngine } from "../../support/hand-engine.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const LONG = { timeoutMs: 15_000 };

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activator: BenchActivator;
const undo: (() => Promise<void>)[] = [];

/** The sidecars of these tests sign nothing; who they are is in their tokens all the same. */
const TRUSTING: PodIdentity = {
  verifyToken: async (token) => {
    const payload = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
      "kubernetes.io": { pod: { uid: string; name: string }; namespace: string };
    };
    const { pod, namespace } = payload["kubernetes.io"];
    return { uid: pod.uid, podName: pod.name, namespace, expiresAt: Date.now() + 3_600_000 };
  },
  readPod: async ({ uid }) => ({
    uid,
    podName: uid,
    namespace: "default",
    service: "echo",
    revision: "echo-00001",
    address: "",
    card: "default",
    marks: {},
  }),
};

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure({
    policy: "speed-aware",
    queueOrder: "urgency",
    binding: "early",
    localQueue: 4,
    sloMs: 60_000,
  });
  activator = await bench.activator({}, { identity: TRUSTING });
});
afterEach(async () => {
  for (const end of undo.splice(0).toReversed()) await end();
  await bench.close();
});

interface LivePod {
  readonly engine: HandEngine;
  readonly sidecar: SidecarProcess;
}

async function startPod(): Promise<LivePod> {
  const engine = await startHandEngine();
  undo.push(() => engine.stop());
  const sidecar = await startSidecar({
    userPort: engine.port,
    activators: [activator.push],
    env: { CONTAINER_CONCURRENCY: "1", SERVING_READINESS_PROBE: "" },
  });
  undo.push(() => sidecar.stop());
  await eventually(async () => {
    const targets = await bench.store.readTargets(REVISION);
    return targets.find(({ uid }) => uid === sidecar.uid)?.state === "ready";
  }, LONG);
  return { engine, sidecar };
}

function post(name: string): Promise<Reply> {
  return call(activator.dataUrl, `/${name}`, { method: "POST", body: "{}" });
}

async function waiting(pod: LivePod, count: number): Promise<void> {
  await eventually(async () => {
    const page = await pod.sidecar.request("/metrics", { port: 9_091 });
    return page.body.includes(`waiting_requests ${count}\n`);
  }, LONG);
}

it("gives a call that waits in a busy pod to one that becomes idle, and runs it there alone", async () => {
  const busy = await startPod();
  const first = post("first");
  await eventually(() => busy.engine.started.length === 1, LONG);
  const second = post("second");
  await waiting(busy, 1);
  const idle = await startPod();
  await eventually(() => idle.engine.started.includes("second"), LONG);
  idle.engine.finish("second");
  expect((await second).status).toBe(200);
  busy.engine.finish("first");
  expect((await first).status).toBe(200);
  expect([busy.engine.started, idle.engine.started]).toEqual([["first"], ["second"]]);
  await eventually(async () => (await bench.busy()) === 0, LONG);
});

it("sends a call elsewhere that only waited in a pod that was lost, and fails the one that ran", async () => {
  const lost = await startPod();
  const first = post("first");
  await eventually(() => lost.engine.started.length === 1, LONG);
  const second = post("second");
  await waiting(lost, 1);
  lost.sidecar.child.kill("SIGKILL");
  expect((await first).status).toBe(502);
  const next = await startPod();
  await eventually(() => next.engine.started.includes("second"), LONG);
  next.engine.finish("second");
  expect((await second).status).toBe(200);
  expect([lost.engine.started, next.engine.started]).toEqual([["first"], ["second"]]);
});

it("takes back what waits in a pod that drains, and lets end there what runs", async () => {
  const leaving = await startPod();
  const first = post("first");
  await eventually(() => leaving.engine.started.length === 1, LONG);
  const second = post("second");
  await waiting(leaving, 1);
  leaving.sidecar.child.kill("SIGTERM");
  await eventually(async () => {
    const targets = await bench.store.readTargets(REVISION);
    return targets.find(({ uid }) => uid === leaving.sidecar.uid)?.state === "draining";
  }, LONG);
  const next = await startPod();
  await eventually(() => next.engine.started.includes("second"), LONG);
  next.engine.finish("second");
  expect((await second).status).toBe(200);
  leaving.engine.finish("first");
  expect((await first).status).toBe(200);
  expect([leaving.engine.started, next.engine.started]).toEqual([["first"], ["second"]]);
  await eventually(async () => (await bench.busy()) === 0, LONG);
});
