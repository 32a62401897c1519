/** What the real sidecar process tells activators, when, and to which of them. */
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelServer, ModelServerOptions } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import { eventually } from "../../support/eventually.ts";

import type { SidecarOptions, SidecarProcess } from "../../support/queue-proxy-process.ts";
import { freePort, startSidecar, tokenOf, writeToken } from "../../support/queue-proxy-process.ts";
import type { PushReceiver } from "../../support/queue-proxy-receiver.ts";
import { startPushReceiver } from "../../support/queue-proxy-receiver.ts";

/** Bounds in ms on a machine that others use: the mechanism must make it once in three. */
const AT_ONCE = { retry: 2 };

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function receiver(): Promise<PushReceiver> {
  const started = await startPushReceiver();
  cleanups.push(() => started.stop());
  return started;
}

async function model(options: ModelServerOptions): Promise<ModelServer> {
  const started = await startModelServer(options);
  cleanups.push(() => started.stop());
  return started;
}

async function sidecarOf(options: SidecarOptions): Promise<SidecarProcess> {
  const started = await startSidecar(options);
  cleanups.push(() => started.stop());
  return started;
}

const httpProbe = (port: number, extra: object = {}) => ({
  SERVING_READINESS_PROBE: JSON.stringify({
    httpGet: { path: "/ready", port, host: "127.0.0.1", scheme: "HTTP" },
    successThreshold: 1,
    ...extra,
  }),
});

describe("readiness", () => {
  it("says starting at once, and ready as soon as the container listens", AT_ONCE, async () => {
    const receives = await receiver();
    const port = await freePort();
    const sidecar = await sidecarOf({ userPort: port, activators: [receives.endpoint] });
    await eventually(() => receives.pushes.length > 0);
    expect(receives.pushes[0]).toMatchObject({
      kind: "hello",
      revision: "default/echo-00001",
      podUid: sidecar.uid,
      podName: "echo-00001-deployment-abc",
      sequence: 1,
      state: "starting",
      address: sidecar.ip,
      port: 8_012,
      capacity: 1,
      inFlight: 0,
      occupied: 0,
      reportsRunning: false,
      from: sidecar.ip,
      authorization: `Bearer ${tokenOf(sidecar.uid)}`,
    });
    expect(receives.last?.state).toBe("starting");
    await model({ port });
    const listensAt = performance.now();
    const ready = await receives.seen((p) => p.state === "ready");
    expect(ready.kind).toBe("change");
    expect(ready.at - listensAt).toBeLessThan(100);
    const { sidecarAt, listeningAt, readyAt } = ready.marks;
    expect(readyAt).toBeGreaterThanOrEqual(listeningAt ?? Infinity);
    expect(listeningAt).toBeGreaterThan(sidecarAt ?? Infinity);
  });

  // F02: the port opens long before the model is loaded.
  it("waits for the user's own probe, not for the port", async () => {
    const receives = await receiver();
    const loading = await model({ loadMs: 60_000 });
    await sidecarOf({
      userPort: loading.port,
      activators: [receives.endpoint],
      env: httpProbe(loading.port),
    });
    await eventually(() => receives.last?.reason === "probe answered 503");
    expect(receives.last?.state).toBe("starting");
    loading.setState("ready");
    await eventually(() => receives.last?.state === "ready", { timeoutMs: 1_000 });
  });

  it("needs the success threshold", async () => {
    const receives = await receiver();
    const serving = await model({});
    await sidecarOf({
      userPort: serving.port,
      activators: [receives.endpoint],
      env: httpProbe(serving.port, { successThreshold: 5 }),
    });
    const ready = await receives.seen((p) => p.state === "ready");
    // Five passes at 50 ms each lie four pauses apart.
    expect((ready.marks.readyAt ?? 0) - (ready.marks.listeningAt ?? 0)).toBeGreaterThan(190);
  });

  it("turns unready after the failure threshold, and ready again", async () => {
    const receives = await receiver();
    const serving = await model({});
    await sidecarOf({
      userPort: serving.port,
      activators: [receives.endpoint],
      env: httpProbe(serving.port, { failureThreshold: 1 }),
    });
    await eventually(() => receives.last?.state === "ready");
    serving.setState("paused");
    const unready = await receives.seen((p) => p.state === "unready");
    expect(unready.reason).toBe("probe answered 503");
    serving.setState("ready");
    await eventually(() => receives.last?.state === "ready");
  });

  it("turns unready at once when a request finds nobody listening", AT_ONCE, async () => {
    const receives = await receiver();
    const serving = await model({});
    const sidecar = await sidecarOf({ userPort: serving.port, activators: [receives.endpoint] });
    await eventually(() => receives.last?.state === "ready");
    await serving.stop();
    await sidecar.request("/echo");
    const unready = await receives.seen((p) => p.state === "unready", { timeoutMs: 500 });
    expect(unready.reason).toBe("container refuses connections");
    await model({ port: serving.port });
    await eventually(() => receives.last?.state === "ready", { timeoutMs: 1_000 });
  });

  it("holds a kubelet's probe until the container is ready", async () => {
    const port = await freePort();
    const sidecar = await sidecarOf({ userPort: port });
    const probe = sidecar.request("/", {
      via: "foreign",
      headers: { "user-agent": "kube-probe/1.34", "k-network-probe": "queue" },
    });
    await model({ port });
    expect(await probe).toMatchObject({ status: 200, body: "queue" });
  });

  it("passes where no probe is configured", async () => {
    const receives = await receiver();
    const env = { SERVING_READINESS_PROBE: "[null]" };
    await sidecarOf({ userPort: await freePort(), activators: [receives.endpoint], env });
    await eventually(() => receives.last?.state === "ready");
  });
});

describe("a container that reports its own state", () => {
  async function reporting(): Promise<{
    receives: PushReceiver;
    sidecar: SidecarProcess;
    container: ModelServer;
  }> {
    const receives = await receiver();
    receives.answer = { reply: { heartbeatMs: 100 } };
    const port = await freePort();
    const sidecar = await sidecarOf({ userPort: port, activators: [receives.endpoint] });
    const stateUrl = `http://${sidecar.ip}:8022/state`;
    const container = await model({ port, stateUrl });
    await eventually(() => receives.last?.state === "ready" && receives.last.reportsRunning);
    return { receives, sidecar, container };
  }

  it("is ready only when it says so", async () => {
    const { receives, container } = await reporting();
    container.setState("loading");
    await eventually(() => receives.last?.reason === "container says loading");
    expect(receives.last?.state).toBe("unready");
    container.setState("ready");
    await eventually(() => receives.last?.state === "ready");
  });

  it("keeps the slot of a caller that left while it works on", AT_ONCE, async () => {
    const { receives, sidecar, container } = await reporting();
    const leaver = new AbortController();
    const headers = { "pilotlight-lease": "lease-1" };
    const call = sidecar.request("/sleep?s=1&goon=1", { headers, signal: leaver.signal });
    await eventually(() => container.counts.cur === 1);
    const left = performance.now();
    leaver.abort();
    await expect(call).rejects.toThrow();
    const taken = await receives.seen((p) => p.occupied === 1);
    expect(taken.at - left).toBeLessThan(100);
    expect(taken.inFlight).toBe(0);
    const refused = await sidecar.request("/echo");
    expect(refused.headers["pilotlight-reason"]).toBe("pod_full");
    receives.once({ ask: ["lease-1", "lease-2"] });
    const answer = await receives.seen((p) => p.asked.length > 0);
    expect(answer).toMatchObject({ asked: ["lease-1", "lease-2"], running: ["lease-1"] });
    await eventually(() => receives.last?.occupied === 0);
    expect((await sidecar.request("/echo")).status).toBe(200);
  });

  it("does not refuse the next request while the report of the last is on its way", async () => {
    const { sidecar } = await reporting();
    for (let i = 0; i < 30; i += 1) expect((await sidecar.request("/echo")).status).toBe(200);
  });

  it("is told what is wrong with a report", async () => {
    const { sidecar } = await reporting();
    const put = (body: string) =>
      sidecar.request("/state", { port: 8_022, method: "PUT", body, via: "foreign" });
    expect(await put('{"state":"asleep"}')).toMatchObject({ status: 400 });
    expect(await put('{"running":-1}')).toMatchObject({ status: 400 });
    expect(await put("nonsense")).toMatchObject({ status: 400 });
    expect(await put('{"state":"paused"}')).toMatchObject({ status: 204 });
  });
});

describe("leases", () => {
  it("are named while they run, at once when asked", AT_ONCE, async () => {
    const receives = await receiver();
    const serving = await model({});
    const sidecar = await sidecarOf({ userPort: serving.port, activators: [receives.endpoint] });
    await eventually(() => receives.last?.state === "ready");
    const headers = { "pilotlight-lease": "lease-1" };
    const call = sidecar.request("/sleep?s=1.5", { headers });
    await eventually(() => serving.counts.cur === 1);
    const beats = receives.pushes.length;
    receives.once({ ask: ["lease-1", "gone"] });
    const answer = await receives.seen((p) => p.asked.length > 0, { skip: beats });
    const asking = receives.pushes[receives.pushes.indexOf(answer) - 1];
    expect(answer).toMatchObject({ running: ["lease-1"], inFlight: 1, kind: "change" });
    expect(answer.at - (asking?.at ?? 0)).toBeLessThan(100);
    await call;
    receives.once({ ask: ["lease-1"] });
    const second = await receives.seen((p) => p.asked.length === 1);
    expect(second.running).toEqual([]);
  });
});

describe("the connection", () => {
  it("is one, kept over changes and heartbeats, in order", async () => {
    const receives = await receiver();
    receives.answer = { reply: { heartbeatMs: 20 } };
    const serving = await model({});
    await sidecarOf({ userPort: serving.port, activators: [receives.endpoint] });
    await eventually(() => receives.pushes.filter((p) => p.kind === "heartbeat").length >= 5);
    expect(new Set(receives.pushes.map((p) => p.connection))).toEqual(new Set([1]));
    const sequences = receives.pushes.map((p) => p.sequence);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
    expect(receives.pushes.filter((p) => p.kind === "hello")).toHaveLength(1);
  });

  it("moves to another activator within 200 ms, with the whole state", AT_ONCE, async () => {
    const [one, two] = [await receiver(), await receiver()];
    const serving = await model({});
    await sidecarOf({ userPort: serving.port, activators: [one.endpoint, two.endpoint] });
    await eventually(() => [one, two].some((r) => r.last?.state === "ready"));
    const [first, other] = one.pushes.length > 0 ? [one, two] : [two, one];
    const lostAt = performance.now();
    await first.stop();
    const hello = await other.seen(() => true);
    expect(hello).toMatchObject({ kind: "hello", state: "ready" });
    expect(hello.sequence).toBeGreaterThan(first.last?.sequence ?? 0);
    expect(hello.at - lostAt).toBeLessThan(200);
  });

  it("leaves an activator that hangs", async () => {
    const [one, two] = [await receiver(), await receiver()];
    const serving = await model({});
    await sidecarOf({ userPort: serving.port, activators: [one.endpoint, two.endpoint] });
    await eventually(() => [one, two].some((r) => r.last?.state === "ready"));
    const [first, other] = one.pushes.length > 0 ? [one, two] : [two, one];
    first.hang();
    await eventually(() => other.last?.state === "ready");
  });

  it("finds an activator that is named later", async () => {
    const serving = await model({});
    const sidecar = await sidecarOf({ userPort: serving.port, activators: [] });
    const receives = await receiver();
    sidecar.setActivators([receives.endpoint]);
    await eventually(() => receives.last?.state === "ready", { timeoutMs: 2_000 });
  });

  it("pauses between two rounds where every connection is closed at once", async () => {
    const times: number[] = [];
    const closing = createServer((socket) => {
      times.push(performance.now());
      socket.destroy();
    });
    await new Promise<void>((resolve) => closing.listen(0, "127.0.0.1", resolve));
    cleanups.push(async () => void closing.close());
    const { port } = closing.address() as AddressInfo;
    const serving = await model({});
    const sidecar = await sidecarOf({
      userPort: serving.port,
      activators: [`127.0.0.1:${port}`],
    });
    await eventually(() => times.length >= 6, { timeoutMs: 20_000 });
    // Five pauses of 0.1 s and more, of which the changes of a start may end some; without them, 2 ms.
    expect((times[5] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(200);
    const receives = await receiver();
    sidecar.setActivators([receives.endpoint]);
    await eventually(() => receives.last?.state === "ready", { timeoutMs: 2_000 });
  });

  it("tries again where it was refused, with the token as it is then", async () => {
    const receives = await receiver();
    receives.answer = { status: 401 };
    const serving = await model({});
    const sidecar = await sidecarOf({ userPort: serving.port, activators: [receives.endpoint] });
    await eventually(() => receives.pushes.length >= 2);
    receives.answer = {};
    writeToken(sidecar.podRoot, `${sidecar.uid}-new`);
    const token = `Bearer ${tokenOf(`${sidecar.uid}-new`)}`;
    await eventually(() => receives.last?.authorization === token, { timeoutMs: 10_000 });
    expect(receives.last?.podUid).toBe(sidecar.uid);
    // Serving does not wait for an activator.
    expect((await sidecar.request("/echo")).status).toBe(200);
  });
});

describe("lives", () => {
  it("a restart draws a larger boot number and waits before it offers its slot", async () => {
    const receives = await receiver();
    const serving = await model({});
    const first = await sidecarOf({ userPort: serving.port, activators: [receives.endpoint] });
    await eventually(() => receives.last?.state === "ready");
    const { boot } = receives.last ?? { boot: 0 };
    first.child.kill("SIGKILL");
    await first.exited();
    const count = receives.pushes.length;
    const second = await first.restart();
    cleanups.push(() => second.stop());
    const ready = await receives.seen((p) => p.state === "ready", { skip: count });
    expect(receives.pushes[count]).toMatchObject({ kind: "hello", sequence: 1, state: "starting" });
    expect(ready.boot).toBeGreaterThan(boot);
    expect((ready.marks.readyAt ?? 0) - (ready.marks.sidecarAt ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  it("a boot number on record that is not smaller makes it draw the next", async () => {
    const receives = await receiver();
    const serving = await model({});
    const later = Date.now() + 3_600_000;
    receives.answer = { reply: { ackBoot: later, ackSequence: 9 } };
    await sidecarOf({ userPort: serving.port, activators: [receives.endpoint] });
    const redrawn = await receives.seen((p) => p.boot === later + 1);
    expect(redrawn.sequence).toBe(1);
    receives.answer = {};
    await eventually(() => receives.last?.state === "ready");
    expect(receives.last?.boot).toBe(later + 1);
  });

  it("a pod without a token serves nobody by our header and pushes nothing", async () => {
    const receives = await receiver();
    const serving = await model({});
    const first = await sidecarOf({ userPort: serving.port, activators: [receives.endpoint] });
    first.child.kill("SIGKILL");
    await first.exited();
    rmSync(join(first.podRoot, "var"), { recursive: true });
    const count = receives.pushes.length;
    const second = await first.restart();
    cleanups.push(() => second.stop());
    expect((await second.request("/echo")).status).toBe(421);
    expect((await second.request("/echo", { via: "foreign" })).status).toBe(200);
    expect(receives.pushes.length).toBe(count);
  });
});
