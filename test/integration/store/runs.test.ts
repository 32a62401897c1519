/** The scripts of asynchronous runs on a real server: acceptance, ownership, take-over, forgetting. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RunRequest, ServiceKey } from "../../../common/contracts/async-runs.ts";
import { createRunStore } from "../../../store/run-calls.ts";
import type { AcceptRun, RunStore } from "../../../store/run-types.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const SERVICE: ServiceKey = "default/ocr";
const KEPT_MS = 3_600_000;

const REQUEST: RunRequest = {
  revision: "default/ocr-00001",
  host: "ocr.default.example",
  method: "POST",
  target: "/read?page=1",
  httpVersion: "1.1",
  remoteAddress: "127.0.0.1",
  runMs: 60_000,
  webhook: null,
};

let server: ValkeyServer;
let store: RunStore;
let prefix = "";
/** Server time of the scripts in ms. */
let now = 1_800_000_000_000;

beforeAll(async () => {
  server = await startValkey();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(() => {
  store?.close();
  prefix = server.freshPrefix();
  now = 1_800_000_000_000;
  store = createRunStore({ url: server.url, prefix, replicas: 0, testTime: () => now * 1_000 });
});
afterAll(() => store.close());

function run(id: string, changes: Partial<AcceptRun> = {}): AcceptRun {
  return {
    owner: "a1",
    id,
    request: REQUEST,
    payload: Buffer.from([0, 255, 10, 65]),
    mark: "m1",
    secrets: { headers: ["content-type", "text/plain"], webhookSecret: "s3cret" },
    limitMs: 600_000,
    repeatable: false,
    mostOpen: 10,
    mostBytes: 1_000,
    ...changes,
  };
}

const claim = (owner: string, most = 10) => store.claim(SERVICE, { owner, most, keptMs: KEPT_MS });
const end = { state: "success", status: 200, keptMs: KEPT_MS } as const;
const answer = { headers: ["content-type", "text/plain"], omitted: false };

/** Beats of a living activator, so that no gap holds a take-over back. */
async function beats(owner: string, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    now += 1_000;
    await claim(owner, 0);
  }
}

async function keysLeft(): Promise<string[]> {
  const keys = await server.admin.keys(`${prefix}*`);
  return keys.map((key) => key.slice(prefix.length)).toSorted();
}

describe("a run", () => {
  it("is kept as it was sent, byte by byte, until it ended and its hour is over", async () => {
    expect(await store.accept(SERVICE, run("r1"))).toEqual({ kind: "accepted", acceptedAt: now });
    expect(await store.services()).toEqual([SERVICE]);
    now += 5;
    expect(await store.start(SERVICE, { owner: "a1", id: "r1" })).toEqual(
      Buffer.from([0, 255, 10, 65]),
    );
    const body = Buffer.from([1, 2, 3, 254]);
    const finish = { ...end, owner: "a1", id: "r1", answer, payload: body, deliver: false };
    expect(await store.finish(SERVICE, finish)).toBe(true);
    expect(await store.read(SERVICE, "r1")).toMatchObject({
      id: "r1",
      state: "success",
      status: 200,
      acceptedAt: now - 5,
      startedAt: now,
      endedAt: now,
      attempts: 1,
      delivery: "none",
      answer,
      request: REQUEST,
    });
    expect(await store.readPayload(SERVICE, "r1")).toEqual(body);
    now += KEPT_MS - 1;
    expect((await claim("a1")).kept).toBe(1);
    now += 1;
    expect((await claim("a1")).kept).toBe(0);
    expect(await store.read(SERVICE, "r1")).toBeNull();
    expect(await keysLeft()).toEqual(["run-services"]);
    await store.forgetService(SERVICE);
    expect(await keysLeft()).toEqual([]);
  });

  it("is one run when the same request comes twice, and refused for another with its id", async () => {
    await store.accept(SERVICE, run("r1"));
    expect(await store.accept(SERVICE, run("r1", { owner: "a2" }))).toMatchObject({
      kind: "known",
    });
    expect(await store.accept(SERVICE, run("r1", { mark: "m2" }))).toEqual({ kind: "taken" });
    expect((await store.list(SERVICE, 10)).map(({ id }) => id)).toEqual(["r1"]);
  });

  it("is refused when the service has too many, or too many bytes, and room comes back", async () => {
    await store.accept(SERVICE, run("r1", { mostOpen: 1 }));
    expect(await store.accept(SERVICE, run("r2", { mostOpen: 1 }))).toEqual({ kind: "full" });
    const finish = { ...end, owner: "a1", id: "r1", answer, deliver: false };
    await store.finish(SERVICE, { ...finish, payload: Buffer.alloc(0) });
    expect(await store.accept(SERVICE, run("r2", { mostOpen: 1 }))).toMatchObject({
      kind: "accepted",
    });
    // Four bytes are eight as base64.
    expect(await store.accept(SERVICE, run("r3", { mostBytes: 15 }))).toEqual({ kind: "full" });
    expect(await store.accept(SERVICE, run("r3", { mostBytes: 16 }))).toMatchObject({
      kind: "accepted",
    });
  });
});

describe("an activator that is gone", () => {
  it("loses its waiting runs to another after three seconds, not before", async () => {
    await store.accept(SERVICE, run("r1"));
    await beats("a2", 2);
    expect((await claim("a2")).taken).toEqual([]);
    await beats("a2", 1);
    const { taken } = await claim("a2");
    expect(taken.map(({ id, owner, state }) => ({ id, owner, state }))).toEqual([
      { id: "r1", owner: "a2", state: "queued" },
    ]);
    // A late word of the first one changes nothing.
    expect(await store.start(SERVICE, { owner: "a1", id: "r1" })).toBeNull();
    expect(await store.start(SERVICE, { owner: "a2", id: "r1" })).not.toBeNull();
  });

  it("leaves a started run unknown, or to be repeated where that is allowed", async () => {
    await store.accept(SERVICE, run("once"));
    await store.accept(SERVICE, run("again", { repeatable: true }));
    for (const id of ["once", "again"]) await store.start(SERVICE, { owner: "a1", id });
    await beats("a2", 4);
    const { taken, open } = await claim("a2");
    expect(taken.map(({ id }) => id)).toEqual(["again"]);
    expect(open).toBe(1);
    expect(await store.read(SERVICE, "once")).toMatchObject({
      state: "unknown",
      endedAt: now - 1_000,
      bytes: 0,
    });
  });

  it("leaves an answer that no webhook has yet", async () => {
    await store.accept(SERVICE, run("r1"));
    await store.start(SERVICE, { owner: "a1", id: "r1" });
    const payload = Buffer.from("answer");
    await store.finish(SERVICE, { ...end, owner: "a1", id: "r1", answer, payload, deliver: true });
    await beats("a2", 4);
    const { taken } = await claim("a2");
    expect(taken).toMatchObject([{ id: "r1", state: "success", delivery: "pending" }]);
    expect(await store.readSecrets(SERVICE, "r1")).toEqual({
      headers: ["content-type", "text/plain"],
      webhookSecret: "s3cret",
    });
    const settle = { owner: "a2", id: "r1", delivery: "delivered", tries: 2, keptMs: KEPT_MS };
    await store.settle(SERVICE, { ...settle, delivery: "delivered", mostBytes: 3 });
    expect(await store.readSecrets(SERVICE, "r1")).toBeNull();
    expect(await store.read(SERVICE, "r1")).toMatchObject({
      delivery: "delivered",
      deliveries: 2,
      bytes: 0,
    });
  });

  it("is not taken for dead after a time in which nobody could renew", async () => {
    await store.accept(SERVICE, run("r1"));
    await beats("a1", 1);
    now += 60_000;
    expect((await claim("a2")).taken).toEqual([]);
    now += 1_000;
    await claim("a1", 0);
    now += 2_500;
    expect((await claim("a2")).taken).toEqual([]);
  });
});

describe("a run without an owner", () => {
  it("waits for its pause and goes to whoever asks first", async () => {
    await store.accept(SERVICE, run("r1"));
    await store.giveBack(SERVICE, { owner: "a1", id: "r1", pauseMs: 500 });
    expect((await claim("a2")).taken).toEqual([]);
    now += 500;
    expect((await claim("a2", 0)).taken).toEqual([]);
    expect((await claim("a2")).taken).toMatchObject([{ id: "r1" }]);
    expect((await claim("a3")).taken).toEqual([]);
  });

  it("expires when it could not start in its time", async () => {
    await store.accept(SERVICE, run("r1", { limitMs: 1_000 }));
    await store.giveBack(SERVICE, { owner: "a1", id: "r1", pauseMs: 2_000 });
    now += 2_000;
    expect(await claim("a2")).toMatchObject({ taken: [], open: 0 });
    expect(await store.read(SERVICE, "r1")).toMatchObject({ state: "expired" });
  });
});

describe("durability", () => {
  it("refuses what no replica has, and leaves nothing of it", async () => {
    const strict = createRunStore({ url: server.url, prefix, replicas: 1 });
    try {
      await expect(strict.accept(SERVICE, run("r1"))).rejects.toMatchObject({
        code: "ERR_STORE_UNAVAILABLE",
      });
      expect(await store.read(SERVICE, "r1")).toBeNull();
    } finally {
      strict.close();
    }
  });

  it("accepts what a replica has", async () => {
    const replica = await startValkey({ args: ["--replicaof", `127.0.0.1 ${server.port}`] });
    const strict = createRunStore({ url: server.url, prefix, replicas: 1 });
    try {
      await expect
        .poll(async () => (await server.admin.info("replication")).includes("state=online"), {
          timeout: 10_000,
        })
        .toBe(true);
      expect(await strict.accept(SERVICE, run("r1"))).toMatchObject({ kind: "accepted" });
      expect(await replica.admin.hexists(`${prefix}{${SERVICE}}:run-states`, "r1")).toBe(1);
    } finally {
      strict.close();
      await replica.stop();
    }
  });
});
