/** The store under faults of the server: lost functions, restarts, wrong role, a stuck script. */
import { afterEach, describe, expect, test } from "vitest";
import { closeClient, createClient } from "../../../store/client.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { REVISION, acquireRequest, pushReport, revisionConfig } from "../../support/routing.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function server(port?: number): Promise<ValkeyServer> {
  const started = await startValkey(port === undefined ? {} : { port });
  closers.push(() => started.stop());
  return started;
}

function open(url: string, timeoutMs = 2_000): StoreHandle {
  const handle = createStore({ url, prefix: "faults:", activatorId: "act-1", timeoutMs });
  closers.push(() => handle.close());
  return handle;
}

async function openReady(url: string, timeoutMs?: number): Promise<StoreHandle> {
  const handle = open(url, timeoutMs);
  await handle.ready();
  await handle.store.configureRevision(revisionConfig());
  await report(handle, 1);
  return handle;
}

const report = (handle: StoreHandle, boot: number) =>
  handle.store.reportReadiness(pushReport("a", { capacity: 0, boot }), { card: "", marks: {} });

const release = (handle: StoreHandle, leaseId: string) =>
  handle.store.releaseLease({
    revision: REVISION,
    leaseId,
    outcome: "done",
    status: 200,
    serviceMs: 1,
  });

const inFlight = async (handle: StoreHandle): Promise<number | undefined> =>
  (await handle.store.readTargets(REVISION))[0]?.inFlight;

describe("lost functions", () => {
  test("F23: functions flushed in mid-run cost no call, and one load each time", async () => {
    const valkey = await server();
    const handle = await openReady(valkey.url);
    let lease = 0;
    for (let flush = 0; flush < 3; flush += 1) {
      const ids = Array.from({ length: 60 }, () => `r${(lease += 1)}`);
      const calls = ids.map((id) => handle.store.acquireLease(acquireRequest(id)));
      await valkey.admin.function("FLUSH");
      calls.push(handle.store.acquireLease(acquireRequest(`after-${flush}`)));
      const results = await Promise.all(calls);
      expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(["leased"]));
      await Promise.all([...ids, `after-${flush}`].map((id) => release(handle, id)));
    }
    expect(await inFlight(handle)).toBe(0);
    const stats = await valkey.admin.info("commandstats");
    const loads = /cmdstat_function\|load:calls=(\d+)/.exec(stats)?.[1];
    expect(Number(loads)).toBeLessThanOrEqual(4);
  });

  test("two processes that load at once do not disturb each other", async () => {
    const valkey = await server();
    await openReady(valkey.url);
    await openReady(valkey.url);
    const libraries = await valkey.admin.function("LIST");
    expect(libraries).toHaveLength(1);
  });
});

describe("lost connections", () => {
  test("calls wait for a restarted server inside their deadline", async () => {
    const valkey = await server();
    const handle = await openReady(valkey.url);
    await valkey.stop();
    const call = handle.store.configureRevision(revisionConfig());
    await server(valkey.port);
    await call;
    expect(await report(handle, 2)).toMatchObject({ kind: "accepted" });
    expect(await handle.store.acquireLease(acquireRequest("r1"))).toMatchObject({ kind: "leased" });
  });

  test("any number of calls may wait for the connection without a warning", async () => {
    const valkey = await server();
    const handle = await openReady(valkey.url);
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listen);
    await valkey.stop();
    await eventually(() =>
      handle.ping().then(
        () => false,
        () => true,
      ),
    );
    const calls = Array.from({ length: 50 }, () => handle.store.listRevisions());
    await server(valkey.port);
    expect(await Promise.all(calls)).toHaveLength(50);
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });

  test("without a server a call ends at its deadline with a name, and no later", async () => {
    const valkey = await server();
    const handle = await openReady(valkey.url, 300);
    await valkey.stop();
    const startedAt = performance.now();
    const call = handle.store.acquireLease(acquireRequest("r1"));
    await expect(call).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  test("what an acquire of unknown outcome took is given back, and so is a late release", async () => {
    const valkey = await server();
    const handle = await openReady(valkey.url, 300);
    expect(await handle.store.acquireLease(acquireRequest("held"))).toMatchObject({
      kind: "leased",
    });
    // The server takes the commands and answers nobody.
    process.kill(valkey.pid, "SIGSTOP");
    const lost = await Promise.allSettled([
      handle.store.acquireLease(acquireRequest("lost")),
      release(handle, "held"),
    ]);
    for (const outcome of lost) {
      expect(outcome).toMatchObject({ reason: { code: "ERR_STORE_UNAVAILABLE" } });
    }
    process.kill(valkey.pid, "SIGCONT");
    await eventually(async () => (await inFlight(handle)) === 0);
    expect(await handle.store.askTicket(REVISION, "lost")).toEqual({ kind: "gone" });
  });

  test("a client that gave up begins anew, one that was closed does not", async () => {
    const valkey = await server();
    const options = { url: valkey.url, random: () => 0.5, timeoutMs: 2_000 };
    const client = createClient(options);
    await eventually(() => client.status === "ready");
    // What ioredis does by itself when it cannot find a primary.
    client.disconnect();
    await eventually(() => client.status === "end");
    await eventually(() => client.status === "ready");
    let revivals = 0;
    client.on("connect", () => (revivals += 1));
    closeClient(client);
    await eventually(() => client.status === "end");
    await new Promise((resolve) => setImmediate(resolve));
    expect(revivals).toBe(0);
  });

  test("subscriptions come back and say so", async () => {
    const valkey = await server();
    const handle = open(valkey.url);
    let subscriptions = 0;
    const heard: string[] = [];
    handle.subscriber.onResubscribed(() => (subscriptions += 1));
    handle.subscriber.onAssignment(({ leaseId }) => heard.push(leaseId));
    handle.subscriber.onConfig(() => undefined);
    await handle.ready();
    expect(subscriptions).toBe(1);
    await valkey.admin.call("CLIENT", "KILL", "TYPE", "pubsub");
    await eventually(() => subscriptions === 2);
    await handle.store.configureRevision(revisionConfig());
    await handle.store.acquireLease(acquireRequest("w"));
    await report(handle, 1);
    await eventually(() => heard.length === 1);
  });
});

describe("a server in the wrong state", () => {
  test("F24: calls wait while the primary is a replica, and go on when it is promoted", async () => {
    const valkey = await server();
    const other = await server();
    const handle = await openReady(valkey.url);
    await valkey.admin.replicaof("127.0.0.1", other.port);
    await eventually(async () => (await valkey.admin.info("replication")).includes("role:slave"));
    const call = handle.store.configureRevision(revisionConfig({ queueDepth: 7 }));
    await valkey.admin.replicaof("NO", "ONE");
    await call;
    expect(await handle.store.readRevision(REVISION)).toMatchObject({ queueDepth: 7 });
  });

  test("F25: a script that will not end delays calls, and everything works after it is killed", async () => {
    const valkey = await server();
    const handle = await openReady(valkey.url);
    await valkey.admin.config("SET", "busy-reply-threshold", "50");
    const stuck = valkey.admin.duplicate();
    closers.push(() => Promise.resolve(stuck.disconnect()));
    await stuck.ping();
    const endless = stuck.eval("while true do end", 0).catch(() => "killed");
    const call = handle.store.acquireLease(acquireRequest("r1"));
    await eventually(async () => (await valkey.admin.script("KILL")) === "OK");
    expect(await endless).toBe("killed");
    expect(await call).toMatchObject({ kind: "leased" });
  });
});
