/** What happens to a request whose attempt fails: sent on, repeated, answered, and never twice. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FreezableServer } from "../../fixtures/servers/frozen-server.ts";
import { ActivatorBench, REVISION, call, podOf } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import type { Manner, StubPod } from "../../support/activator-stub-pod.ts";
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
  await bench.configure();
  activator = await bench.activator();
});
afterEach(() => bench.close());

/** The first is chosen first. */
async function twoPods(): Promise<readonly [StubPod, StubPod]> {
  const pods = [await bench.pod(), await bench.pod()] as const;
  for (const pod of pods) await pod.register(activator.push);
  return pods;
}

async function stateOf(pod: StubPod): Promise<string> {
  const targets = await bench.store.readTargets(REVISION);
  return targets.find((target) => target.uid === pod.uid)?.state ?? "gone";
}

const POST = { method: "POST", body: "work" };

describe("nothing was delivered", () => {
  const rows: readonly [manner: Manner, state: string][] = [
    ["wrong_target", "gone"],
    ["pod_full", "ready"],
    ["draining", "gone"],
  ];
  for (const [manner, state] of rows) {
    it(`${manner}: goes to the next target, whatever the method`, async () => {
      const [bad, good] = await twoPods();
      bad.manner = manner;
      const reply = await call(activator.dataUrl, "/", {
        ...POST,
        headers: { "pilotlight-debug": "true" },
      });
      expect(reply.status).toBe(200);
      expect(podOf(reply)).toBe(good.uid);
      expect(reply.headers["pilotlight-attempts"]).toBe("2");
      expect(reply.headers["pilotlight-pod"]).toBe(good.uid);
      expect(reply.headers["pilotlight-reason"]).toBeUndefined();
      expect(bad.hits).toBe(0);
      // The next heartbeat may already have spoken for a full pod.
      expect(await stateOf(bad)).toBe(state);
      await eventually(async () => (await bench.busy()) === 0);
    });
  }

  it("a refused connection: next target at once, the other one quarantined", async () => {
    const [bad, good] = await twoPods();
    await bad.unlisten();
    const reply = await call(activator.dataUrl, "/", POST);
    expect(podOf(reply)).toBe(good.uid);
    expect(await stateOf(bad)).toBe("quarantined");
  });

  it("brings a quarantined target back when it passes the probe", async () => {
    const [bad] = await twoPods();
    const { port } = bad;
    await bad.unlisten();
    await call(activator.dataUrl, "/");
    expect(await stateOf(bad)).toBe("quarantined");
    await bad.listen(port);
    await eventually(async () => (await stateOf(bad)) === "ready", { timeoutMs: 8_000 });
    expect(bad.probes).toBeGreaterThan(0);
  });

  it("waits for the only target there is, until it is back", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    const { port } = pod;
    await pod.unlisten();
    const asked = call(activator.dataUrl, "/", POST);
    await eventually(async () => (await stateOf(pod)) === "quarantined");
    await pod.listen(port);
    const reply = await asked;
    expect(reply.status).toBe(200);
    expect(pod.hits).toBe(1);
  });

  it("keeps a body for the next target, held or not", async () => {
    const [bad, good] = await twoPods();
    for (const bytes of [1_000, 3_000_000]) {
      bad.manner = "pod_full";
      await bad.push(activator.push, "change", "ready");
      const body = Buffer.alloc(bytes, "x");
      const reply = await call(activator.dataUrl, "/", { method: "PUT", body });
      expect(reply.status).toBe(200);
      expect(JSON.parse(reply.body)).toMatchObject({ pod: good.uid, length: bytes });
    }
    expect(bad.hits).toBe(0);
    expect(good.hits).toBe(2);
  });
});

describe("nobody knows whether it ran", () => {
  it("is repeated for a method that may be repeated", async () => {
    const [bad, good] = await twoPods();
    bad.manner = "reset";
    expect(podOf(await call(activator.dataUrl, "/", { method: "PUT", body: "x" }))).toBe(good.uid);
  });

  it("is 502 for a POST, unless it carries an idempotency key", async () => {
    const [bad, good] = await twoPods();
    bad.manner = "reset";
    const refused = await call(activator.dataUrl, "/", POST);
    expect(refused.status).toBe(502);
    expect(refused.headers["pilotlight-reason"]).toBe("upstream_reset");
    const headers = { "idempotency-key": "k1" };
    expect(podOf(await call(activator.dataUrl, "/", { ...POST, headers }))).toBe(good.uid);
  });

  it("costs one POST when a pod is killed, not the one that waits behind it too", async () => {
    const other = await bench.activator();
    const [dying, spare] = [await bench.pod(), await bench.pod()];
    await dying.register(activator.push);
    dying.manner = "dying";
    const replies = [call(activator.dataUrl, "/", POST), call(other.dataUrl, "/", POST)];
    const first = await Promise.race(replies);
    expect(first.headers["pilotlight-reason"]).toBe("upstream_reset");
    await eventually(async () => (await stateOf(dying)) === "quarantined");
    await spare.register(activator.push);
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 502]);
    expect(spare.hits).toBe(1);
  });

  it("ends after three deliveries", async () => {
    const pods = [await bench.pod(), await bench.pod(), await bench.pod(), await bench.pod()];
    for (const pod of pods) {
      pod.manner = "reset";
      await pod.register(activator.push);
    }
    const reply = await call(activator.dataUrl, "/");
    expect(reply.status).toBe(502);
    expect(pods.reduce((sum, pod) => sum + pod.arrivals, 0)).toBe(3);
  });

  it("is never repeated once the answer began: the caller is cut", async () => {
    const [bad, good] = await twoPods();
    await expect(call(activator.dataUrl, "/break")).rejects.toThrow(/aborted|hang up|reset/i);
    expect(bad.hits + good.hits).toBe(1);
    await eventually(async () => (await bench.busy()) === 0);
  });
});

describe("a host that is cut off, and breaks no connection", () => {
  let server: FreezableServer;
  let beats: NodeJS.Timeout;
  let pods: { readonly cut: StubPod; readonly good: StubPod };

  beforeEach(async () => {
    const cut = await bench.pod();
    server = await FreezableServer.start(cut.address);
    const { port } = server;
    await cut.push(activator.push, "hello", "ready", { port });
    beats = setInterval(() => {
      cut.push(activator.push, "heartbeat", "ready", { port }).catch(() => {});
    }, 500);
    // Leaves a connection that stands.
    expect(podOf(await call(activator.dataUrl, "/"))).toBe("frozen");
    const good = await bench.pod();
    await good.register(activator.push);
    pods = { cut, good };
    await server.freeze();
  });

  afterEach(async () => {
    clearInterval(beats);
    await server.stop();
  });

  it("loses what was sent over one that stands to the next pod, where that may be repeated", async () => {
    const startedAt = performance.now();
    expect(podOf(await call(activator.dataUrl, "/"))).toBe(pods.good.uid);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(await stateOf(pods.cut)).toBe("quarantined");
    await eventually(async () => (await bench.busy()) === 0, { timeoutMs: 5_000 });
  });

  it("keeps the others away from it while a POST waits for its answer", async () => {
    const waiting = call(activator.dataUrl, "/", POST);
    await eventually(async () => (await stateOf(pods.cut)) === "quarantined");
    expect(podOf(await call(activator.dataUrl, "/", POST))).toBe(pods.good.uid);
    server.thaw();
    expect(podOf(await waiting)).toBe("frozen");
  });
});

describe("an answer of the sidecar itself", () => {
  it("passes with its reason where the request may not be repeated", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    pod.manner = "container_exited";
    const reply = await call(activator.dataUrl, "/", POST);
    expect([reply.status, reply.headers["pilotlight-reason"]]).toEqual([502, "container_exited"]);
    expect(pod.arrivals).toBe(1);
  });

  it("is kept from the caller where it may, and another pod answers", async () => {
    const [bad, good] = await twoPods();
    bad.manner = "container_exited";
    expect(podOf(await call(activator.dataUrl, "/"))).toBe(good.uid);
  });
});

describe("a caller who leaves", () => {
  it("gives up its place while it waits, and is never started", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    const running = call(activator.dataUrl, "/?ms=300");
    await eventually(async () => (await bench.busy()) === 1);
    const leaving = new AbortController();
    const asked = call(activator.dataUrl, "/", { signal: leaving.signal });
    await eventually(async () => (await bench.waiting()) === 1);
    leaving.abort();
    const leftAt = performance.now();
    await expect(asked).rejects.toThrow();
    await eventually(async () => (await bench.waiting()) === 0, { timeoutMs: 1_000 });
    expect(performance.now() - leftAt).toBeLessThan(100);
    await running;
    expect(pod.hits).toBe(1);
  });

  it("gives up its place before there is any pod", async () => {
    const leaving = new AbortController();
    const asked = call(activator.dataUrl, "/", { signal: leaving.signal });
    await eventually(async () => (await bench.waiting()) === 1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await eventually(async () => (await bench.waiting()) === 0);
    const pod = await bench.pod();
    await pod.register(activator.push);
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
    expect(pod.hits).toBe(1);
  });

  it("frees the slot before the answer, and the pod sees the abort", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    const leaving = new AbortController();
    const asked = call(activator.dataUrl, "/?ms=5000", { signal: leaving.signal });
    await eventually(() => pod.running === 1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await eventually(() => pod.aborted === 1, { timeoutMs: 1_000 });
    await eventually(async () => (await bench.busy()) === 0, { timeoutMs: 1_000 });
  });

  it("frees the slot in the middle of a stream", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    const leaving = new AbortController();
    const asked = call(activator.dataUrl, "/sse?n=100000", { signal: leaving.signal });
    await eventually(() => pod.running === 1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await eventually(() => pod.running === 0, { timeoutMs: 1_000 });
    await eventually(async () => (await bench.busy()) === 0, { timeoutMs: 1_000 });
  });

  it("leaves nothing behind in two hundred cases", async () => {
    const pod = await bench.pod();
    await pod.register(activator.push);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const leaving = AbortSignal.timeout(5 + index * 3);
          await call(activator.dataUrl, "/?ms=5000", { signal: leaving }).catch(() => {});
        }),
      );
    }
    await eventually(async () => (await bench.busy()) + (await bench.waiting()) === 0, {
      timeoutMs: 2_000,
    });
    expect(pod.running).toBe(0);
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
  });
});
