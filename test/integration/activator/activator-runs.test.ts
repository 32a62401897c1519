/**
 * Asynchronous calls and webhooks over real activators, a real store and real receivers: accepted,
 * run once, read, delivered, taken over, refused.
 */
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { signatureOf } from "../../../activator/core/webhook-delivery.ts";
import { ActivatorBench, call } from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const RUNS = "/.well-known/gpu-runs/";
const ASYNC = { maxDurationMs: 20_000, webhookHosts: ["127.0.0.1", "*"] };

let server: ValkeyServer;
let bench: ActivatorBench;
let activator: BenchActivator;
let pod: StubPod;

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
beforeEach(async () => {
  bench = new ActivatorBench(server.url, server.freshPrefix());
  await bench.configure({ async: ASYNC });
  activator = await bench.activator();
  pod = await bench.pod();
});
afterEach(() => bench.close());

interface RunState {
  readonly run_id: string;
  readonly state: string;
  readonly status_code: number | null;
  readonly attempts: number;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly webhook: string;
}

async function stateOf(id: string, through = activator): Promise<RunState> {
  const reply = await call(through.dataUrl, RUNS + id);
  expect(reply.status).toBe(200);
  return JSON.parse(reply.body) as RunState;
}

const idOf = (reply: Reply): string => (JSON.parse(reply.body) as { run_id: string }).run_id;

async function until(id: string, state: string, through = activator): Promise<RunState> {
  return eventually(async () => {
    const run = await stateOf(id, through);
    expect(run.state).toBe(state);
    return run;
  });
}

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver of webhooks on loopback; answers with each status in turn, the last for ever. */
class Receiver {
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #statuses: number[];

  constructor(...statuses: number[]) {
    this.#statuses = statuses;
    this.#server = createServer((incoming, answer) => {
      void buffer(incoming).then((body) => {
        this.received.push({ headers: incoming.headers, body: body.toString() });
        const status = this.#statuses.length > 1 ? this.#statuses.shift() : this.#statuses[0];
        answer.writeHead(status ?? 200, { location: "http://127.0.0.1:1/elsewhere" });
        answer.end();
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe("an asynchronous call", () => {
  it("is answered at once, waits for a pod, runs, and can be read", async () => {
    const reply = await call(activator.dataUrl, "/infer?async=true&top_k=3", {
      method: "POST",
      body: "page",
      headers: { "x-request-id": "run-1", "x-webhook-secret": "s3cret" },
    });
    expect(reply.status).toBe(202);
    expect(JSON.parse(reply.body)).toEqual({ run_id: "run-1" });
    expect(reply.headers["location"]).toBe(`${RUNS}run-1`);
    expect(await stateOf("run-1")).toMatchObject({ state: "queued", status_code: null });
    expect(await bench.waiting()).toBe(1);
    await pod.register(activator.push);
    expect(await until("run-1", "success")).toMatchObject({ status_code: 200, attempts: 1 });
    const answer = await call(activator.dataUrl, `${RUNS}run-1/answer`);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(answer.body)).toMatchObject({ length: 4, url: "/infer?top_k=3" });
    const [seen] = pod.seen;
    const names = (seen?.rawHeaders ?? []).map((name) => name.toLowerCase());
    expect(names).not.toContain("x-webhook-secret");
    expect(seen?.body).toBe("page");
    expect(pod.hits).toBe(1);
    expect(await bench.busy()).toBe(0);
  });

  it("is asked for by Prefer as well, and says that it was heard", async () => {
    await pod.register(activator.push);
    const headers = { prefer: "wait=10, respond-async" };
    const reply = await call(activator.dataUrl, "/x", { headers });
    expect(reply.status).toBe(202);
    expect(reply.headers["preference-applied"]).toBe("respond-async");
    await until(idOf(reply), "success");
    // Knative's broker asks for a reply in the same header.
    const plain = await call(activator.dataUrl, "/x", { headers: { prefer: "reply" } });
    expect(plain.status).toBe(200);
  });

  it("fails with the status of its inner call", async () => {
    await pod.register(activator.push);
    pod.manner = "container_exited";
    const reply = await call(activator.dataUrl, "/x?async=true", { method: "POST", body: "b" });
    expect(await until(idOf(reply), "failure")).toMatchObject({ status_code: 502, attempts: 1 });
  });

  it("is refused where its words make no sense, and left alone where the service has none", async () => {
    await pod.register(activator.push);
    const odd = await call(activator.dataUrl, "/x?async=yes");
    expect([odd.status, odd.headers["pilotlight-reason"]]).toEqual([400, "invalid_async"]);
    const large = Buffer.alloc(6 * 1_048_576 + 1);
    const big = await call(activator.dataUrl, "/x?async=true", { method: "POST", body: large });
    expect([big.status, big.headers["pilotlight-reason"]]).toEqual([413, "body_too_large"]);
    const missing = await call(activator.dataUrl, `${RUNS}nobody`);
    expect([missing.status, missing.headers["pilotlight-reason"]]).toEqual([404, "no_such_run"]);
    const upgrade = { connection: "upgrade", upgrade: "websocket" };
    const socket = await call(activator.dataUrl, "/x?async=true", { headers: upgrade });
    expect([socket.status, socket.headers["pilotlight-reason"]]).toEqual([400, "invalid_async"]);
    await bench.configure();
    await eventually(async () => {
      const own = await call(activator.dataUrl, "/x?async=yes&webhookEndpoint=1");
      expect(own.status).toBe(200);
      expect(JSON.parse(own.body)).toMatchObject({ url: "/x?async=yes&webhookEndpoint=1" });
      return true;
    });
  });

  it("is one run when its caller repeats it", async () => {
    const headers = { "x-request-id": "twice" };
    const first = await call(activator.dataUrl, "/x?async=true", { headers });
    const second = await call(activator.dataUrl, "/x?async=true", { headers });
    const other = await call(activator.dataUrl, "/y?async=true", { headers });
    expect([first.status, second.status, other.status]).toEqual([202, 202, 400]);
    await pod.register(activator.push);
    await until("twice", "success");
    expect(pod.hits).toBe(1);
  });

  it("waits in the store when the queue is full, and runs when there is room", async () => {
    await bench.configure({ async: ASYNC, queueDepth: 1 });
    const held = call(activator.dataUrl, "/held");
    await eventually(async () => (await bench.waiting()) === 1);
    const reply = await call(activator.dataUrl, "/x?async=true");
    expect(reply.status).toBe(202);
    await pod.register(activator.push);
    expect((await held).status).toBe(200);
    await until(idOf(reply), "success");
  });
});

describe("an activator that is gone", () => {
  it("leaves its waiting runs to another, which makes them once", async () => {
    const second = await bench.activator();
    const reply = await call(activator.dataUrl, "/x?async=true", { method: "POST", body: "b" });
    const id = idOf(reply);
    await activator.drain();
    expect(await stateOf(id, second)).toMatchObject({ state: "queued" });
    await pod.register(second.push);
    await until(id, "success", second);
    expect(pod.hits).toBe(1);
  });
});

describe("a store that is lost with all its runs", () => {
  it("leaves their state unknown at every activator, and no state to a run that never was", async () => {
    await pod.register(activator.push);
    const second = await bench.activator({ PILOTLIGHT_ACTIVATOR_ID: "second" });
    const headers = { "x-request-id": "lost-1" };
    await call(activator.dataUrl, "/?async=true", { method: "POST", body: "page", headers });
    await until("lost-1", "success");
    await server.admin.flushall();
    await server.admin.call("FUNCTION", "FLUSH");
    // The one that took it in knows at once; the others from its next look on.
    expect((await stateOf("lost-1")).state).toBe("unknown");
    await eventually(
      async () => {
        const reply = await call(second.dataUrl, `${RUNS}lost-1`);
        expect(reply.status).toBe(200);
        expect(JSON.parse(reply.body)).toEqual({ run_id: "lost-1", state: "unknown" });
        return true;
      },
      { timeoutMs: 20_000 },
    );
    const never = await call(second.dataUrl, `${RUNS}never`);
    expect([never.status, never.headers["pilotlight-reason"]]).toEqual([404, "no_such_run"]);
    // An activator that starts later is told as well.
    await activator.drain();
    const third = await bench.activator({ PILOTLIGHT_ACTIVATOR_ID: "third" });
    expect((await stateOf("lost-1", third)).state).toBe("unknown");
  });
});

describe("a webhook", () => {
  it("gets the answer of an asynchronous call, signed, after a receiver that was not there yet", async () => {
    await using receiver = new Receiver(404, 204);
    const hook = encodeURIComponent(await receiver.listen());
    await pod.register(activator.push);
    const reply = await call(activator.dataUrl, `/x?async=true&webhookEndpoint=${hook}`, {
      method: "POST",
      body: "hello",
      headers: { "x-webhook-secret": "s3cret" },
    });
    const id = idOf(reply);
    await eventually(async () => (await stateOf(id)).webhook === "delivered");
    expect(await stateOf(id)).toMatchObject({ state: "success" });
    expect(receiver.received).toHaveLength(2);
    const { headers, body } = receiver.received[1] ?? { headers: {}, body: "" };
    expect(JSON.parse(body)).toMatchObject({ length: 5, url: "/x" });
    const timestamp = String(headers["pilotlight-webhook-timestamp"]);
    const signed = { secret: "s3cret", runId: id, timestamp, body: Buffer.from(body) };
    expect(headers["pilotlight-webhook-signature"]).toBe(signatureOf(signed));
    expect(headers["x-request-id"]).toBe(id);
    expect(headers["pilotlight-webhook-status"]).toBe("200");
    expect(headers["content-type"]).toBe("application/json");
  });

  it("gets the answer that its caller waits for too, as an event when asked", async () => {
    await using receiver = new Receiver(200);
    const hook = encodeURIComponent(await receiver.listen());
    await pod.register(activator.push);
    const reply = await call(activator.dataUrl, `/x?a=1&webhookEndpoint=${hook}`, {
      headers: { "pilotlight-webhook-format": "cloudevents", "x-request-id": "waited-for" },
    });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toMatchObject({ url: "/x?a=1" });
    await eventually(() => receiver.received.length === 1);
    const { headers, body } = receiver.received[0] ?? { headers: {}, body: "" };
    expect(body).toBe(reply.body);
    expect(headers).toMatchObject({
      "ce-specversion": "1.0",
      "ce-id": "waited-for",
      "ce-type": "dev.pilotlight.run.finished",
      "ce-source": "/apis/serving.knative.dev/v1/namespaces/default/services/echo",
      "content-type": "application/json",
    });
    expect(headers["pilotlight-webhook-signature"]).toBeUndefined();
  });

  it("is not asked again after a refusal, and its redirects are not followed", async () => {
    await using refusing = new Receiver(410);
    await using moving = new Receiver(302);
    await pod.register(activator.push);
    for (const receiver of [refusing, moving]) {
      const hook = encodeURIComponent(await receiver.listen());
      const reply = await call(activator.dataUrl, `/x?async=true&webhookEndpoint=${hook}`);
      const isOver = async () => (await stateOf(idOf(reply))).webhook === "failed";
      await eventually(isOver, { timeoutMs: 15_000 });
    }
    expect(refusing.received).toHaveLength(1);
    expect(moving.received).toHaveLength(3);
  }, 30_000);

  it.each([
    "ftp://example.com/",
    "http://10.0.0.1/",
    "http://[::1]/",
    "http://2130706434/",
    "http://localhost/",
    "http://kubernetes.default.svc/",
    "http://user:word@example.com/",
    "nothing",
  ])("is refused at once for %s", async (url) => {
    await pod.register(activator.push);
    const path = `/x?async=true&webhookEndpoint=${encodeURIComponent(url)}`;
    const reply = await call(activator.dataUrl, path);
    expect([reply.status, reply.headers["pilotlight-reason"]]).toEqual([400, "invalid_webhook"]);
    expect(pod.hits).toBe(0);
  });
});
