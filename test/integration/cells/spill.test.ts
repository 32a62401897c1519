/** Requests that go from one cell to another over real TLS, and what each of them leaves behind. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { call, HOST } from "../../support/activator-bench.ts";
import type { CallOptions } from "../../support/activator-bench.ts";
import { CellRig } from "../../support/cell-rig.ts";
import type { CellRigOptions } from "../../support/cell-rig.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
const rigs: CellRig[] = [];
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function startRig(options: Partial<CellRigOptions> = {}): Promise<CellRig> {
  const rig = new CellRig(server, { names: ["eu", "us"], ...options });
  rigs.push(rig);
  return rig.start();
}

/** Two cells, of which only the second has a pod; the first knows it. */
async function warmElsewhere(options: Partial<CellRigOptions> = {}): Promise<CellRig> {
  const rig = await startRig(options);
  await rig.pod("us");
  await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
  return rig;
}

const headersOf = (rig: CellRig, cell: string): string[] =>
  rig.cell(cell).pods[0]?.seen[0]?.rawHeaders.map((text) => text.toLowerCase()) ?? [];

describe("a warm slot in another cell", () => {
  it("is taken at once, with the request as it was", async () => {
    const rig = await warmElsewhere();
    const reply = await call(rig.url("eu"), "/x?y=1", {
      method: "POST",
      body: "hello",
      headers: { "x-request-id": "r-1", "x-own": "kept" },
    });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toMatchObject({ length: 5, url: "/x?y=1" });
    expect(reply.headers["x-request-id"]).toBe("r-1");
    expect(reply.headers["server-timing"]).toContain('cell;desc="us"');
    expect(reply.headers["server-timing"]).toContain("us: chosen");
    const seen = headersOf(rig, "us");
    expect(seen).toContain("x-own");
    expect(seen.filter((name) => name.startsWith("pilotlight-")).toSorted()).toEqual([
      "pilotlight-lease",
      "pilotlight-target-uid",
    ]);
  });

  it("is given back when the answer is over, and never counted in the cell of entry", async () => {
    const rig = await warmElsewhere();
    for (let round = 0; round < 5; round += 1) {
      await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
      expect((await call(rig.url("eu"), "/")).status).toBe(200);
    }
    await eventually(async () => (await rig.cell("us").bench.busy()) === 0, { timeoutMs: 5_000 });
    expect(await rig.cell("eu").bench.waiting()).toBe(0);
    const { spills } = await rig.view("eu");
    expect(new Set(spills.map(({ cell, outcome }) => `${cell} ${outcome}`))).toEqual(
      new Set(["us served"]),
    );
    expect(spills.reduce((sum, { count }) => sum + count, 0)).toBe(5);
  });

  it("carries streams, web sockets and long bodies", async () => {
    const rig = await warmElsewhere();
    const events = await call(rig.url("eu"), "/sse?n=20");
    expect(events.body.match(/data: /g)).toHaveLength(20);
    await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
    const body = Buffer.alloc(3_000_000, "x");
    const upload = await call(rig.url("eu"), "/", { method: "POST", body });
    expect(JSON.parse(upload.body)).toMatchObject({ length: 3_000_000 });
    await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
    const socket = new WebSocket(rig.url("eu").replace("http:", "ws:"), {
      headers: { host: HOST },
    });
    const echoed = await new Promise<string>((resolve, reject) => {
      socket.on("open", () => socket.send("over the sea"));
      socket.on("message", (data: Buffer) => resolve(data.toString()));
      socket.on("error", reject);
    });
    expect(echoed).toBe("over the sea");
    socket.close();
    await eventually(async () => (await rig.cell("us").bench.busy()) === 0, { timeoutMs: 5_000 });
  });

  it("is left alone when the caller leaves", async () => {
    const rig = await warmElsewhere();
    const leaving = new AbortController();
    const called = call(rig.url("eu"), "/?ms=60000", { signal: leaving.signal });
    await eventually(() => rig.cell("us").pods[0]?.running === 1, { timeoutMs: 5_000 });
    leaving.abort();
    await expect(called).rejects.toThrow();
    await eventually(() => rig.cell("us").pods[0]?.running === 0, { timeoutMs: 5_000 });
    await eventually(async () => (await rig.cell("us").bench.busy()) === 0, { timeoutMs: 5_000 });
  });

  it("that is gone again costs a refusal, and the request is served here", async () => {
    const rig = await warmElsewhere();
    // Nothing new is heard in the meantime.
    rig.relay("eu", "us").set({ delayMs: 400 });
    const inside = call(rig.url("us"), "/?ms=1500");
    await eventually(async () => (await rig.cell("us").bench.busy()) === 1, { timeoutMs: 5_000 });
    const called = call(rig.url("eu"), "/");
    await eventually(
      async () => (await rig.view("eu")).spills.some(({ outcome }) => outcome === "refused"),
      { timeoutMs: 5_000 },
    );
    await rig.pod("eu");
    expect((await called).status).toBe(200);
    expect(rig.cell("eu").pods[0]?.hits).toBe(1);
    expect((await inside).status).toBe(200);
  });
});

describe("a request that must wait in another cell", () => {
  /** Nobody has a pod, and only the second cell may start one. */
  async function waits(
    request: CallOptions = {},
  ): Promise<{ rig: CellRig; called: ReturnType<typeof call> }> {
    const rig = await startRig();
    await rig.facts("us", { mayStart: 1, share: 1 });
    await rig.heard("eu", "us", ({ services }) => services.length === 1);
    await eventually(async () => (await rig.view("eu")).cells.length === 2);
    const called = call(rig.url("eu"), "/x", request);
    await eventually(async () => (await rig.cell("us").bench.waiting()) === 1, {
      timeoutMs: 10_000,
      what: "the request waits in us",
    });
    return { rig, called };
  }

  it("reaches a pod only there, once, and without a body it never had", async () => {
    const { rig, called } = await waits();
    expect(await rig.cell("eu").bench.waiting()).toBe(0);
    await rig.pod("us");
    const reply = await called;
    expect(reply.status).toBe(200);
    expect(reply.headers["pilotlight-cold-start"]).toBe("true");
    const seen = headersOf(rig, "us");
    expect(seen).not.toContain("transfer-encoding");
    expect(seen).not.toContain("expect");
    expect(rig.cell("us").pods[0]?.hits).toBe(1);
  });

  const REQUESTS: readonly (readonly [string, CallOptions])[] = [
    ["without a body", { method: "GET" }],
    ["with a body", { method: "POST", body: "hello" }],
    ["with a body of length 0", { method: "POST", body: "" }],
    ["of chunks", { method: "PATCH", headers: { "transfer-encoding": "chunked" } }],
  ];

  it.each(REQUESTS)(
    "runs once when nothing comes back of it any more, %s",
    async (_name, request) => {
      const { rig, called } = await waits(request);
      const way = rig.relay("eu", "us");
      way.set({ dead: ["back"] });
      // A slot stands there, and its word of that is lost.
      await rig.pod("us");
      await eventually(async () => (await rig.cell("eu").bench.waiting()) === 1, {
        timeoutMs: 8_000,
        what: "the request is back in eu",
      });
      await rig.pod("eu");
      expect((await called).status).toBe(200);
      way.drop();
      way.set({ dead: [] });
      await eventually(async () => (await rig.cell("us").bench.busy()) === 0, { timeoutMs: 8_000 });
      const hits = (["eu", "us"] as const).map((cell) => rig.cell(cell).pods[0]?.hits);
      expect(hits).toEqual([1, 0]);
    },
  );

  it.each(REQUESTS)(
    "runs once when the way stood still and goes on, %s",
    async (_name, request) => {
      const { rig, called } = await waits(request);
      const way = rig.relay("eu", "us");
      way.set({ halted: true });
      await rig.pod("us");
      await eventually(async () => (await rig.cell("eu").bench.waiting()) === 1, {
        timeoutMs: 8_000,
        what: "the request is back in eu",
      });
      await rig.pod("eu");
      // The other cell's word that a slot stands arrives now, and so does the word that nobody waits.
      way.set({ halted: false });
      expect((await called).status).toBe(200);
      await eventually(async () => (await rig.cell("us").bench.busy()) === 0, { timeoutMs: 8_000 });
      const hits = (["eu", "us"] as const).map((cell) => rig.cell(cell).pods[0]?.hits);
      expect(hits).toEqual([1, 0]);
    },
  );

  it("tells the container that a body was announced as empty", async () => {
    const { rig, called } = await waits({ method: "POST", body: "" });
    await rig.pod("us");
    expect((await called).status).toBe(200);
    const seen = headersOf(rig, "us");
    expect(seen[seen.indexOf("content-length") + 1]).toBe("0");
    expect(seen).not.toContain("transfer-encoding");
  });

  it("comes back undelivered when the way breaks before a slot stands there", async () => {
    const { rig, called } = await waits();
    rig.relay("eu", "us").set({ refusing: true });
    rig.relay("eu", "us").drop();
    await eventually(async () => (await rig.cell("eu").bench.waiting()) === 1, {
      timeoutMs: 5_000,
      what: "the request waits in eu again",
    });
    await rig.pod("eu");
    expect((await called).status).toBe(200);
    await eventually(async () => (await rig.cell("us").bench.waiting()) === 0, {
      timeoutMs: 5_000,
    });
    await rig.pod("us");
    expect(rig.cell("us").pods[0]?.hits).toBe(0);
    expect(rig.cell("eu").pods[0]?.hits).toBe(1);
  });

  it("comes back when the other cell falls silent with the connection open", async () => {
    const { rig, called } = await waits();
    rig.relay("eu", "us").set({ dead: ["out", "back"] });
    await eventually(async () => (await rig.cell("eu").bench.waiting()) === 1, {
      timeoutMs: 6_000,
      what: "the request is back within the time in which a cell counts as heard",
    });
    await rig.pod("eu");
    expect((await called).status).toBe(200);
  });

  it("goes on to a third place when a slot becomes warm there", async () => {
    const rig = await startRig({ names: ["eu", "us", "ap"] });
    const called = call(rig.url("eu"), "/");
    await eventually(async () => (await rig.cell("eu").bench.waiting()) === 1, {
      timeoutMs: 5_000,
    });
    await rig.pod("ap");
    expect((await called).status).toBe(200);
    expect(rig.cell("ap").pods[0]?.hits).toBe(1);
  });
});

describe("what callers say of cells", () => {
  it("means nothing: a forged hop is served as any request, and leaves for another cell", async () => {
    const rig = await warmElsewhere();
    const reply = await call(rig.url("eu"), "/", {
      headers: {
        "pilotlight-hop": "1",
        "pilotlight-spill": "warm",
        "pilotlight-remaining": "wait=1",
        "knative-serving-namespace": "default",
        "knative-serving-revision": "other-00001",
      },
    });
    expect(reply.status).toBe(200);
    const seen = headersOf(rig, "us");
    expect(seen).not.toContain("pilotlight-hop");
    expect(seen).not.toContain("pilotlight-remaining");
  });

  it("does not open the peer port", async () => {
    const rig = await warmElsewhere();
    const peer = rig.cell("us").activators[0]?.peer ?? "";
    await expect(
      call(`http://${peer}`, "/", { headers: { "pilotlight-hop": "1" } }),
    ).rejects.toThrow();
  });
});

describe("regions", () => {
  it("keep a request out of a cell that they do not name, warm or not", async () => {
    const rig = await startRig({ config: { regions: "eu" } });
    await rig.pod("us");
    const called = call(rig.url("eu"), "/");
    await eventually(async () => (await rig.cell("eu").bench.waiting()) === 1, {
      timeoutMs: 5_000,
    });
    await eventually(
      async () =>
        (await rig.view("eu")).choices.some(({ words }) => words.includes("outside-regions")),
      { timeoutMs: 5_000 },
    );
    expect(rig.cell("us").pods[0]?.hits).toBe(0);
    await rig.pod("eu");
    expect((await called).status).toBe(200);
    expect(rig.cell("us").pods[0]?.hits).toBe(0);
  });

  it("refuse a request where the service may not run, before its body is read", async () => {
    const rig = await startRig({ config: { regions: "eu" } });
    const reply = await call(rig.url("us"), "/", { method: "POST", body: "secret" });
    expect([reply.status, reply.headers["pilotlight-reason"]]).toEqual([503, "no_capacity"]);
    expect(reply.body).toContain("its regions are eu");
  });
});
