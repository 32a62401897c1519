/** The push side: who may say what about which pod, and what a lost connection means. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activator: BenchActivator;

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure({ localQueue: 7 });
  activator = await bench.activator();
});
afterEach(() => bench.close());

async function stateOf(pod: StubPod): Promise<string> {
  const targets = await bench.store.readTargets(REVISION);
  return targets.find((target) => target.uid === pod.uid)?.state ?? "gone";
}

async function metric(line: string): Promise<number> {
  const page = await (await fetch(`http://${activator.push}/metrics`)).text();
  const found = page.split("\n").find((candidate) => candidate.startsWith(`${line} `));
  return Number(found?.split(" ").at(-1) ?? "0");
}

describe("a push", () => {
  it("is stored, and answered with what the sidecar must know", async () => {
    const pod = await bench.pod();
    const reply = await pod.register(activator.push, "starting");
    expect(reply).toMatchObject({ ackSequence: 1, heartbeatMs: 1_000, localQueue: 7, ask: [] });
    expect(await stateOf(pod)).toBe("starting");
    await pod.push(activator.push, "change", "ready");
    const [target] = await bench.store.readTargets(REVISION);
    expect(target).toMatchObject({
      state: "ready",
      address: `${pod.address}:${pod.port}`,
      card: "default",
      marks: { decidedAt: expect.any(Number), readyAt: expect.any(Number) },
    });
  });

  it("ends the pod's life in routing with a goodbye", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    const { status } = await pod.push(activator.push, "goodbye", "draining");
    expect(status).toBe(200);
    expect(await stateOf(pod)).toBe("gone");
  });

  const forgeries: readonly [name: string, status: number, reason: string, forged: object][] = [
    ["signed with another secret", 401, "unauthenticated", { secret: "another" }],
    ["about another pod than the token's", 403, "forbidden", { podUid: "somebody-else" }],
    ["about another revision than the pod's", 403, "forbidden", { revision: "default/other" }],
    ["that names another address", 403, "forbidden", { address: "127.0.0.9" }],
    ["from another address than the pod's", 403, "forbidden", { from: "127.0.0.9" }],
  ];
  for (const [name, status, reason, forged] of forgeries) {
    it(`${name} is refused and counted`, async () => {
      const pod = await bench.pod();
      const result = await pod.push(activator.push, "hello", "ready", forged);
      expect(result.status).toBe(status);
      expect(await bench.store.readTargets(REVISION)).toEqual([]);
      expect(await metric(`pilotlight_pushes_refused_total{reason="${reason}"}`)).toBe(1);
    });
  }

  it("of a shape that is none is refused by the schema", async () => {
    const pod = await bench.pod();
    const forged = { capacity: -1 };
    expect((await pod.push(activator.push, "hello", "ready", forged)).status).toBe(400);
    const series = 'pilotlight_pushes_refused_total{reason="malformed_request"}';
    expect(await metric(series)).toBe(1);
  });

  it("for a revision that the store does not know is asked for again", async () => {
    await bench.store.removeRevision(REVISION);
    const pod = await bench.pod();
    const first = await pod.push(activator.push, "hello", "ready");
    expect(first.status).toBe(503);
    await bench.configure();
    await pod.register(activator.push);
    expect(await stateOf(pod)).toBe("ready");
  });
});

describe("a lost push connection", () => {
  it("of a dead pod takes it out of routing without any request", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    await pod.unlisten();
    pod.vanish();
    await eventually(async () => (await stateOf(pod)) !== "ready", { timeoutMs: 2_000 });
    expect(await stateOf(pod)).toBe("suspected");
  });

  it("of a pod that lives is only a doubt: the probe ends it", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    pod.vanish();
    await eventually(async () => (await stateOf(pod)) === "suspected", { timeoutMs: 2_000 });
    await eventually(async () => (await stateOf(pod)) === "ready", { timeoutMs: 4_000 });
    expect(pod.probes).toBeGreaterThan(0);
  });

  it("that is replaced in time means nothing", async () => {
    await bench.store.recordEvents(REVISION, true);
    const pod = await bench.pod();
    await pod.register(activator.push);
    pod.vanish();
    await pod.register(activator.push);
    const later = performance.now() + 700;
    await eventually(() => performance.now() > later);
    const events = await bench.store.readEvents(REVISION);
    expect(events.map((event) => event.operation)).not.toContain("push-lost");
    expect(await stateOf(pod)).toBe("ready");
  });
});

describe("a pod that goes over to another activator", () => {
  it("is not doubted by the one that it left", async () => {
    const other = await bench.activator();
    await bench.store.recordEvents(REVISION, true);
    const pod = await bench.pod();
    await pod.register(activator.push);
    pod.vanish();
    await pod.register(other.push);
    const later = performance.now() + 1_000;
    await eventually(() => performance.now() > later);
    const events = await bench.store.readEvents(REVISION);
    expect(events.map((event) => event.operation)).not.toContain("push-lost");
    expect(await stateOf(pod)).toBe("ready");
  });
});

describe("the admin side", () => {
  it("shows requests and their times per revision", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    await call(activator.dataUrl, "/");
    await call(activator.dataUrl, "/", { host: "nobody" });
    const labels = '{namespace="default",service="echo",revision="echo-00001"}';
    await eventually(async () => (await metric(`pilotlight_run_total${labels}`)) === 1);
    expect(await metric(`pilotlight_run_successes${labels}`)).toBe(1);
    expect(await metric(`pilotlight_run_response_time_ms_count${labels}`)).toBe(1);
    const refused = 'pilotlight_requests_refused_total{reason="no_such_service"}';
    expect(await metric(refused)).toBe(1);
    expect(await metric("pilotlight_pushing_pods")).toBe(1);
    expect((await fetch(`http://${activator.push}/readyz`)).status).toBe(200);
  });
});
