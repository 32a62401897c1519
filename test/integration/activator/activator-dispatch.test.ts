/** From a request's head to its answer: slots, waiting, limits and the answers of the platform. */
import { afterEach, beforeAll, afterAll, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, REVISION, call, podOf } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(() => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
});
afterEach(() => bench.close());

describe("a request that finds a slot", () => {
  it("is answered by the pod, with the platform's headers on it", async () => {
    await bench.configure();
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);

    const reply = await call(activator.dataUrl, "/hello?x=1", {
      method: "POST",
      body: "question",
      headers: {
        "x-request-id": "mine-1",
        "pilotlight-lease": "forged",
        "x-forwarded-for": "1.2.3.4",
      },
    });

    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toMatchObject({ pod: pod.uid, length: 8, url: "/hello?x=1" });
    expect(reply.headers["x-request-id"]).toBe("mine-1");
    expect(reply.headers["pilotlight-cold-start"]).toBe("false");
    expect(reply.headers["server-timing"]).toMatch(
      /^route;dur=[\d.]+, queue;dur=0, coldstart;dur=0, connect;dur=[\d.]+, upstream;dur=[\d.]+$/,
    );
    const { rawHeaders } = pod.seen[0] ?? { rawHeaders: [] };
    const headers = new Map(
      rawHeaders.flatMap((name, index) =>
        index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1]]] : [],
      ),
    );
    expect(headers.get("pilotlight-target-uid")).toBe(pod.uid);
    expect(headers.get("pilotlight-lease")).not.toBe("forged");
    expect(headers.get("k-original-host")).toBe("echo.default.localhost");
    expect(headers.get("k-proxy-request")).toBe("activator");
    expect(headers.get("x-forwarded-for")).toBe("1.2.3.4, 127.0.0.1");
    expect(headers.get("host")).toBe(`${pod.address}:${pod.port}`);
    expect(headers.get("x-request-id")).toBe("mine-1");
    await eventually(async () => (await bench.busy()) === 0);
  });

  it("is named by the host alone: an unknown one is 404 at once", async () => {
    await bench.configure();
    const activator = await bench.activator();
    const reply = await call(activator.dataUrl, "/", {
      host: "nobody.default.localhost",
      headers: {
        accept: "application/json",
        "knative-serving-namespace": "default",
        "knative-serving-revision": "echo-00001",
      },
    });
    expect(reply.status).toBe(404);
    expect(reply.headers["pilotlight-reason"]).toBe("no_such_service");
    expect(JSON.parse(reply.body)).toMatchObject({ reason: "no_such_service" });
  });
});

describe("a request that must wait", () => {
  it("waits for the first pod and says that it was a cold start", async () => {
    await bench.configure();
    const activator = await bench.activator();
    const pod = await bench.pod();
    const asked = call(activator.dataUrl, "/");
    await eventually(async () => (await bench.waiting()) === 1);
    await pod.register(activator.push);

    const reply = await asked;
    expect(reply.status).toBe(200);
    expect(reply.headers["pilotlight-cold-start"]).toBe("true");
    const [record] = await eventually(async () => {
      const records = await bench.store.readColdStarts(REVISION, 10);
      return records.length > 0 && records;
    });
    expect(record).toMatchObject({ podUid: pod.uid, service: "echo" });
    expect(record?.spawnedAt).toBeGreaterThan(0);
    expect(record?.readyAt).toBeGreaterThan(0);
    expect(record?.firstByteAt).toBeGreaterThanOrEqual(record?.dispatchedAt ?? Infinity);
  });

  it("is served in one order over two activators, one at a time", async () => {
    await bench.configure();
    const [one, two] = [await bench.activator(), await bench.activator()];
    const pod = await bench.pod();
    await pod.register(one.push);
    const order: number[] = [];
    const calls: Promise<unknown>[] = [];
    for (let index = 0; index < 6; index += 1) {
      const { dataUrl } = index % 2 === 0 ? one : two;
      calls.push(call(dataUrl, "/?ms=20").then(() => order.push(index)));
      await eventually(
        async () => (await bench.busy()) + (await bench.waiting()) === index + 1 - order.length,
        { timeoutMs: 2_000 },
      );
    }
    await Promise.all(calls);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    expect(pod.mostRunning).toBe(1);
  });

  it("gives every pod exactly one of four simultaneous requests", async () => {
    await bench.configure();
    const activators = [await bench.activator(), await bench.activator()];
    const pods = [await bench.pod(), await bench.pod(), await bench.pod(), await bench.pod()];
    for (const [index, pod] of pods.entries()) {
      await pod.register(activators[index % 2]?.push ?? "");
    }
    for (let round = 0; round < 20; round += 1) {
      const replies = await Promise.all(
        [0, 0, 1, 1].map((index) => call(activators[index]?.dataUrl ?? "", "/?ms=30")),
      );
      expect(new Set(replies.map(podOf)).size).toBe(4);
    }
    expect(pods.map((pod) => pod.mostRunning)).toEqual([1, 1, 1, 1]);
  });

  it("is refused when the queue is full, with a hint when to come back", async () => {
    await bench.configure({ queueDepth: 1 });
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    const running = call(activator.dataUrl, "/?ms=300");
    await eventually(async () => (await bench.busy()) === 1);
    const waiting = call(activator.dataUrl, "/");
    await eventually(async () => (await bench.waiting()) === 1);
    const refused = await call(activator.dataUrl, "/");
    expect(refused).toMatchObject({ status: 503, body: "pending request queue full\n" });
    expect(refused.headers["pilotlight-reason"]).toBe("queue_full");
    expect(Number(refused.headers["retry-after"])).toBeGreaterThanOrEqual(1);
    expect((await running).status).toBe(200);
    expect((await waiting).status).toBe(200);
  });

  it("ends with queue_timeout while pods are busy, and leaves the queue", async () => {
    await bench.configure({ queueTimeoutMs: 100 });
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    const running = call(activator.dataUrl, "/?ms=400");
    await eventually(async () => (await bench.busy()) === 1);
    const reply = await call(activator.dataUrl, "/");
    expect(reply.status).toBe(504);
    expect(reply.headers["pilotlight-reason"]).toBe("queue_timeout");
    expect(reply.headers["retry-after"]).toBeDefined();
    await eventually(async () => (await bench.waiting()) === 0);
    expect((await running).status).toBe(200);
    expect(pod.hits).toBe(1);
  });

  it("ends with activation_timeout while there is no pod, naming what is waited for", async () => {
    await bench.configure({ activationTimeoutMs: 100, waitingFor: "waiting for a node" });
    const activator = await bench.activator();
    const reply = await call(activator.dataUrl, "/");
    expect(reply.status).toBe(504);
    expect(reply.headers["pilotlight-reason"]).toBe("activation_timeout");
    expect(reply.body).toContain("waiting for a node");
    await eventually(async () => (await bench.waiting()) === 0);
  });

  it("ends with activation_failed as soon as no pod can start", async () => {
    await bench.configure();
    const activator = await bench.activator();
    const asked = call(activator.dataUrl, "/", { headers: { accept: "application/json" } });
    await eventually(async () => (await bench.waiting()) === 1);
    await bench.configure({ failure: { reason: "ImagePullBackOff", message: "no such image" } });
    const reply = await asked;
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBeDefined();
    expect(JSON.parse(reply.body)).toMatchObject({
      reason: "activation_failed",
      message: expect.stringContaining("ImagePullBackOff: no such image"),
    });
    const next = await call(activator.dataUrl, "/");
    expect(next.headers["pilotlight-reason"]).toBe("activation_failed");
    await eventually(async () => (await bench.waiting()) === 0);
  });

  it("waits for a revision that nobody has configured yet", async () => {
    const activator = await bench.activator();
    const asked = call(activator.dataUrl, "/");
    await eventually(async () => {
      const reply = await fetch(`http://${activator.push}/v1/waiting`);
      const { revisions } = (await reply.json()) as { revisions: { waiting: number }[] };
      return revisions[0]?.waiting === 1;
    });
    await bench.configure();
    const pod = await bench.pod();
    await pod.register(activator.push);
    expect((await asked).status).toBe(200);
  });
});

describe("limits of a running request", () => {
  it("ends with response_start_timeout before the first byte", async () => {
    await bench.configure({ responseStartTimeoutMs: 100 });
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    const reply = await call(activator.dataUrl, "/?ms=2000");
    expect(reply).toMatchObject({ status: 504, body: "activator request timeout" });
    expect(reply.headers["pilotlight-reason"]).toBe("response_start_timeout");
    await eventually(async () => (await bench.busy()) === 0);
  });

  it("does not count the wait for a pod as running time", async () => {
    await bench.configure({ timeoutMs: 400, responseStartTimeoutMs: 300 });
    const activator = await bench.activator();
    const asked = call(activator.dataUrl, "/?ms=50");
    await eventually(async () => (await bench.waiting()) === 1);
    const longAfter = performance.now() + 500;
    await eventually(() => performance.now() > longAfter);
    const pod = await bench.pod();
    await pod.register(activator.push);
    expect((await asked).status).toBe(200);
  });
});
