/** Requests through the real sidecar process to a real model server: who is let in, and how. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ModelServer } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import { eventually } from "../../support/eventually.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";

let model: ModelServer;
let sidecar: SidecarProcess;

async function start(env: Record<string, string> = {}): Promise<void> {
  model = await startModelServer();
  sidecar = await startSidecar({ userPort: model.port, env });
}

beforeEach(() => start());
afterEach(async () => {
  await sidecar.stop();
  await model.stop();
});

async function restartWith(env: Record<string, string>): Promise<void> {
  await sidecar.stop();
  await model.stop();
  await start(env);
}

const KUBELET = { "user-agent": "kube-probe/1.34", "k-network-probe": "queue" };

it("passes a request on without what is ours and with who sent it", async () => {
  const answer = await sidecar.request("/echo?a=1", {
    body: "hello",
    headers: { "pilotlight-lease": "l1", "x-own": "yes", "k-proxy-request": "activator" },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers["pilotlight-reason"]).toBeUndefined();
  const seen = JSON.parse(answer.body) as { length: number; url: string; headers: string[] };
  expect(seen).toMatchObject({ length: 5, url: "/echo?a=1", method: "POST" });
  const names = seen.headers.filter((_, index) => index % 2 === 0).map((n) => n.toLowerCase());
  expect(names).toContain("x-own");
  expect(names).toContain("k-proxy-request");
  expect(names).toContain("x-forwarded-for");
  expect(names.filter((name) => name.startsWith("pilotlight-"))).toEqual([]);
});

it("answers 421 to a request for another pod without asking the container", async () => {
  const answer = await sidecar.request("/echo", {
    via: "foreign",
    method: "POST",
    headers: { "pilotlight-target-uid": "another", "content-length": "10" },
    body: "0123456789",
  });
  expect(answer.status).toBe(421);
  expect(answer.headers["pilotlight-reason"]).toBe("wrong_target");
  expect(model.counts.hits).toBe(0);
});

it("refuses a leased request above the limit and takes one when the slot is free", async () => {
  const first = sidecar.request("/sleep?s=0.4");
  await eventually(() => model.counts.cur === 1);
  const second = await sidecar.request("/sleep?s=0");
  expect(second.status).toBe(503);
  expect(second.headers["pilotlight-reason"]).toBe("pod_full");
  expect((await first).status).toBe(200);
  expect((await sidecar.request("/sleep?s=0")).status).toBe(200);
  expect(model.counts).toMatchObject({ max: 1, hits: 2 });
});

it("queues ten times the limit of other requests and refuses the twelfth, as stock does", async () => {
  const calls = Array.from({ length: 14 }, () =>
    sidecar.request("/sleep?s=0.15", { via: "foreign" }),
  );
  const answers = await Promise.all(calls);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(11);
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused).toHaveLength(3);
  for (const { body, headers } of refused) {
    expect(body).toBe("pending request queue full\n");
    expect(headers["pilotlight-reason"]).toBe("queue_full");
    expect(headers["retry-after"]).toBe("1");
  }
  expect(model.counts).toMatchObject({ max: 1, hits: 11 });
});

it("never starts a request whose caller left the queue", async () => {
  const running = sidecar.request("/sleep?s=0.5", { via: "foreign" });
  await eventually(() => model.counts.cur === 1);
  const leaver = new AbortController();
  const left = sidecar.request("/early", { via: "foreign", signal: leaver.signal });
  const stayed = sidecar.request("/echo", { via: "foreign" });
  await eventually(async () => (await metric("pilotlight_queue_proxy_waiting_requests")) === 2);
  leaver.abort();
  await expect(left).rejects.toThrow();
  await eventually(async () => (await metric("pilotlight_queue_proxy_waiting_requests")) === 1);
  expect((await running).status).toBe(200);
  expect((await stayed).status).toBe(200);
  expect(model.counts.hits).toBe(2);
});

it("stops the container's work when the caller leaves", async () => {
  const leaver = new AbortController();
  const call = sidecar.request("/sleep?s=30", { signal: leaver.signal });
  await eventually(() => model.counts.cur === 1);
  leaver.abort();
  await expect(call).rejects.toThrow();
  await eventually(() => model.counts.aborted === 1 && model.counts.cur === 0);
  expect((await sidecar.request("/echo")).status).toBe(200);
});

// F04 (c) and (d): before the head of the answer, and in the middle of its body.
it.each(["/sleep?s=30", "/sse?n=2&gap=30"])(
  "is back where it was after a hundred callers left %s",
  async (path) => {
    await restartWith({ CONTAINER_CONCURRENCY: "0" });
    for (let round = 0; round < 5; round += 1) {
      const leaver = new AbortController();
      const calls = Array.from({ length: 20 }, () =>
        sidecar.request(path, { signal: leaver.signal }).catch(() => "left"),
      );
      await eventually(() => model.counts.cur === 20);
      leaver.abort();
      expect(await Promise.all(calls)).toEqual(calls.map(() => "left"));
      await eventually(() => model.counts.cur === 0, { timeoutMs: 1_000 });
    }
    expect(await metric("pilotlight_queue_proxy_open_requests")).toBe(0);
    expect(model.counts.hits).toBe(100);
    expect(sidecar.child.exitCode).toBeNull();
  },
);

describe("probes", () => {
  it.each([
    { name: "the kubelet", headers: KUBELET, status: 200, body: "queue" },
    {
      name: "an activator",
      headers: { ...KUBELET, "user-agent": "Knative-Activator-Probe" },
      status: 200,
      body: "queue",
    },
    {
      name: "a wrong value",
      headers: { ...KUBELET, "k-network-probe": "other" },
      status: 400,
      body: "unexpected probe header value: other\n",
    },
    {
      name: "a kubelet that names no value",
      headers: { "user-agent": KUBELET["user-agent"] },
      status: 400,
      body: "unexpected probe header value: \n",
    },
    {
      name: "the ingress",
      headers: { "k-network-probe": "probe", "k-network-hash": "h" },
      status: 200,
      body: "",
    },
    {
      name: "an ingress without a hash",
      headers: { "k-network-probe": "probe" },
      status: 400,
      body: 'a probe request must contain a non-empty "K-Network-Hash" header\n',
    },
  ])("of $name get $status", async ({ headers, status, body }) => {
    const answer = await sidecar.request("/x", { via: "foreign", headers });
    expect(answer).toMatchObject({ status, body });
    if (status === 200 && body === "") expect(answer.headers["k-network-hash"]).toBe("h");
    expect(model.counts.hits).toBe(0);
  });

  it("with a queue header of an unknown agent are traffic", async () => {
    const answer = await sidecar.request("/echo", {
      via: "foreign",
      headers: { "k-network-probe": "queue" },
    });
    expect(JSON.parse(answer.body)).toMatchObject({ url: "/echo" });
  });

  it("for the container pass while every slot is taken", async () => {
    const running = sidecar.request("/sleep?s=0.5");
    await eventually(() => model.counts.cur === 1);
    const headers = { "k-kubelet-probe": "yes" };
    expect((await sidecar.request("/echo", { via: "foreign", headers })).status).toBe(200);
    expect(model.counts.max).toBe(2);
    await running;
  });
});

describe("limits of requests that did not come through our activator", () => {
  it("end with stock's answer while nothing was written", async () => {
    await restartWith({ REVISION_TIMEOUT_SECONDS: "1" });
    const answer = await sidecar.request("/sleep?s=30", { via: "foreign" });
    expect(answer).toMatchObject({ status: 504, body: "request timeout" });
    await eventually(() => model.counts.aborted === 1);
  });

  it("count the time in the queue", async () => {
    await restartWith({ REVISION_RESPONSE_START_TIMEOUT_SECONDS: "1" });
    const running = sidecar.request("/sleep?s=1.5");
    await eventually(() => model.counts.cur === 1);
    const answer = await sidecar.request("/echo", { via: "foreign" });
    expect(answer).toMatchObject({ status: 504, body: "request timeout" });
    await running;
    expect(model.counts.hits).toBe(1);
  });
});

describe("a container that fails", () => {
  it("by a reset is 502 upstream_reset", async () => {
    const answer = await sidecar.request("/reset");
    expect(answer.status).toBe(502);
    expect(answer.headers["pilotlight-reason"]).toBe("upstream_reset");
  });

  it("by nonsense is 502 bad_response", async () => {
    const answer = await sidecar.request("/garbage");
    expect(answer.status).toBe(502);
    expect(answer.headers["pilotlight-reason"]).toBe("bad_response");
  });

  it("in mid-answer cuts the caller", async () => {
    await expect(sidecar.request("/reset?after=1")).rejects.toThrow();
    expect((await sidecar.request("/echo")).status).toBe(200);
  });

  it("with a status of its own is passed on without our header", async () => {
    const answer = await sidecar.request("/status?code=503");
    expect(answer).toMatchObject({ status: 503, body: "as asked\n" });
    expect(answer.headers["pilotlight-reason"]).toBeUndefined();
  });

  it("by not being there is undelivered when leased and 502 otherwise", async () => {
    await model.stop();
    const leased = await sidecar.request("/echo");
    expect(leased.status).toBe(503);
    expect(leased.headers["pilotlight-reason"]).toBe("pod_full");
    const foreign = await sidecar.request("/echo", { via: "foreign" });
    expect(foreign.status).toBe(502);
    expect(foreign.headers["pilotlight-reason"]).toBe("container_exited");
  });
});

it("serves stock's statistics on 9090", async () => {
  const answer = await sidecar.request("/metrics", { port: 9_090 });
  expect(answer.headers["content-type"]).toBe("application/protobuf");
  const name = "echo-00001-deployment-abc";
  expect(answer.bytes.subarray(0, 2 + name.length).toString()).toBe(`\n\u0019${name}`);
  await eventually(
    async () => {
      await sidecar.request("/echo", { headers: { "k-proxy-request": "activator" } });
      const { bytes } = await sidecar.request("/metrics", { port: 9_090 });
      // Fields 4 and 5, requests and proxied requests, are doubles after the name.
      return [0x21, 0x29, 0x31].every((tag) => bytes.includes(tag, 2 + name.length));
    },
    { everyMs: 50 },
  );
  expect((await sidecar.request("/other", { port: 9_090 })).status).toBe(404);
});

it("counts requests under stock's names on 9091", async () => {
  await sidecar.request("/echo");
  const { body } = await sidecar.request("/metrics", { port: 9_091 });
  expect(body).toContain(
    'kn_serving_invocation_duration_seconds_count{http_response_status_code="200"} 1',
  );
  expect(body).toContain("kn_serving_queue_depth 1");
});

async function metric(name: string): Promise<number> {
  const { body } = await sidecar.request("/metrics", { port: 9_091 });
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(body)?.[1] ?? Number.NaN);
}
