/** How the real sidecar process ends: what runs, what arrives, who must know, and its exit code. */
import { afterEach, describe, expect, it } from "vitest";
import type { ModelServer } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import { eventually } from "../../support/eventually.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";
import type { PushReceiver } from "../../support/queue-proxy-receiver.ts";
import { startPushReceiver } from "../../support/queue-proxy-receiver.ts";

let receives: PushReceiver;
let model: ModelServer;
let sidecar: SidecarProcess;

async function start(env: Record<string, string> = {}): Promise<void> {
  receives = await startPushReceiver();
  model = await startModelServer();
  sidecar = await startSidecar({ userPort: model.port, activators: [receives.endpoint], env });
  await eventually(() => receives.last?.state === "ready");
}

afterEach(async () => {
  await sidecar.stop();
  await model.stop();
  await receives.stop();
});

const hook = () => sidecar.request("/wait-for-drain", { port: 8_022, via: "foreign" });
const acknowledge = () => (receives.answer = { reply: { drainAcknowledged: true } });
const KUBELET = { "user-agent": "kube-probe/1.34", "k-network-probe": "queue" };

describe("SIGTERM", () => {
  it(
    "says draining at once, and leaves with 0 a second after the store knows",
    { retry: 2 },
    async () => {
      await start();
      acknowledge();
      const signalAt = performance.now();
      sidecar.child.kill("SIGTERM");
      const draining = await receives.seen((p) => p.state === "draining");
      expect(draining.at - signalAt).toBeLessThan(100);
      expect(await sidecar.exited()).toBe(0);
      expect(performance.now() - signalAt).toBeGreaterThanOrEqual(990);
      expect(receives.last?.kind).toBe("goodbye");
    },
  );

  it("stays while the store has not confirmed", async () => {
    await start();
    sidecar.child.kill("SIGTERM");
    // It asks again and again instead of waiting for the next heartbeat.
    await eventually(() => receives.pushes.filter((p) => p.state === "draining").length >= 10);
    expect(sidecar.child.exitCode).toBeNull();
    acknowledge();
    expect(await sidecar.exited()).toBe(0);
  });

  it("leaves when no activator was reachable for 5 s", async () => {
    await start();
    await receives.stop();
    const signalAt = performance.now();
    sidecar.child.kill("SIGTERM");
    expect(await sidecar.exited()).toBe(0);
    const tookMs = performance.now() - signalAt;
    expect(tookMs).toBeGreaterThan(4_500);
    expect(tookMs).toBeLessThan(9_000);
  });

  it("refuses leased arrivals with a reason, and fails probes", async () => {
    await start();
    sidecar.child.kill("SIGTERM");
    await eventually(() => receives.last?.state === "draining");
    const refused = await sidecar.request("/echo");
    expect(refused.status).toBe(503);
    expect(refused.headers["pilotlight-reason"]).toBe("draining");
    const probe = await sidecar.request("/", { via: "foreign", headers: KUBELET });
    expect(probe).toMatchObject({ status: 503, body: "shutting down\n" });
    expect(model.counts.hits).toBe(0);
  });

  it("lets what runs finish, and holds the container's hook meanwhile", async () => {
    await start();
    acknowledge();
    const running = sidecar.request("/sleep?s=2");
    await eventually(() => model.counts.cur === 1);
    const order: string[] = [];
    sidecar.child.kill("SIGTERM");
    const held = hook().then(({ status }) => order.push(`hook ${status}`));
    expect((await running).status).toBe(200);
    order.push("answer");
    await held;
    expect(order).toEqual(["answer", "hook 200"]);
    expect(await sidecar.exited()).toBe(0);
  });

  it("ends what is still open before the grace is over", async () => {
    await start({ REVISION_TIMEOUT_SECONDS: "3" });
    acknowledge();
    const running = sidecar.request("/sleep?s=60");
    await eventually(() => model.counts.cur === 1);
    const signalAt = performance.now();
    sidecar.child.kill("SIGTERM");
    const held = hook();
    const answer = await running;
    expect(answer.status).toBe(504);
    expect(answer.headers["pilotlight-reason"]).toBe("terminated");
    expect(performance.now() - signalAt).toBeGreaterThan(1_400);
    expect((await held).status).toBe(200);
    await eventually(() => model.counts.aborted === 1);
    expect(await sidecar.exited()).toBe(0);
  });

  it("cuts an answer that has begun instead of completing it", async () => {
    await start({ REVISION_TIMEOUT_SECONDS: "2" });
    acknowledge();
    const running = sidecar.request("/sse?n=2&gap=60");
    await eventually(() => model.counts.cur === 1);
    sidecar.child.kill("SIGTERM");
    await expect(running).rejects.toThrow();
    expect(await sidecar.exited()).toBe(0);
  });

  it("serves what arrives by another way, and waits for the quiet time", async () => {
    await start({ REVISION_TIMEOUT_SECONDS: "8" });
    acknowledge();
    sidecar.child.kill("SIGTERM");
    await eventually(() => receives.last?.state === "draining");
    const signalAt = performance.now();
    expect((await sidecar.request("/echo", { via: "foreign" })).status).toBe(200);
    // The quiet time of 30 s is longer than this pod's grace, which ends it at half of 8 s.
    expect((await hook()).status).toBe(200);
    expect(performance.now() - signalAt).toBeGreaterThan(3_500);
    expect(await sidecar.exited()).toBe(0);
  });

  it("a second one leaves at once with 1", async () => {
    await start();
    const running = sidecar.request("/sleep?s=60").catch(() => "cut");
    await eventually(() => model.counts.cur === 1);
    sidecar.child.kill("SIGTERM");
    await eventually(() => receives.last?.state === "draining");
    sidecar.child.kill("SIGTERM");
    expect(await sidecar.exited()).toBe(1);
    expect(await running).toBe("cut");
  });
});

describe("the hook alone", () => {
  it("returns after a second, and the pod goes on", async () => {
    await start();
    const askedAt = performance.now();
    const answer = hook();
    await eventually(() => receives.last?.state === "unready");
    expect(receives.last?.reason).toBe("the container is being stopped");
    expect((await answer).status).toBe(200);
    expect(performance.now() - askedAt).toBeGreaterThanOrEqual(990);
    await eventually(() => receives.last?.state === "ready");
    expect((await sidecar.request("/echo")).status).toBe(200);
    expect(receives.pushes.some((p) => p.state === "draining")).toBe(false);
  });

  it("becomes a drain when the signal follows", async () => {
    await start();
    acknowledge();
    const answer = hook();
    await eventually(() => receives.last?.state === "unready");
    sidecar.child.kill("SIGTERM");
    await eventually(() => receives.last?.state === "draining");
    expect((await answer).status).toBe(200);
    expect(await sidecar.exited()).toBe(0);
  });
});

it("hands leased requests that only wait back to the activator", async () => {
  receives = await startPushReceiver();
  receives.answer = { reply: { localQueue: 5 } };
  model = await startModelServer();
  sidecar = await startSidecar({ userPort: model.port, activators: [receives.endpoint] });
  await eventually(() => receives.last?.state === "ready");
  const running = sidecar.request("/sleep?s=1");
  await eventually(() => model.counts.cur === 1);
  const waiting = sidecar.request("/echo", { headers: { "pilotlight-order": "0;1;1" } });
  const waits = async () => (await sidecar.request("/metrics", { port: 9_091 })).body;
  await eventually(async () => (await waits()).includes("waiting_requests 1"));
  acknowledge();
  sidecar.child.kill("SIGTERM");
  expect((await waiting).headers["pilotlight-reason"]).toBe("draining");
  expect((await running).status).toBe(200);
  expect(await sidecar.exited()).toBe(0);
  expect(model.counts.hits).toBe(1);
});
