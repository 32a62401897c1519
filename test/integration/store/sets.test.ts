/** The store behind Sentinels and as a cluster: where it lies, and what a change of it costs. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { REVISION, acquireRequest, pushReport, revisionConfig } from "../../support/routing.ts";
import { startSentinelSet, startValkeyCluster } from "../../support/valkey-sets.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(url: string): Promise<StoreHandle> {
  const handle = createStore({ url, prefix: "sets:", activatorId: "act-1", timeoutMs: 5_000 });
  closers.push(() => handle.close());
  await handle.ready();
  return handle;
}

const report = (handle: StoreHandle, boot: number) =>
  handle.store.reportReadiness(pushReport("a", { boot }), { card: "", marks: {} });

const release = (handle: StoreHandle, leaseId: string) =>
  handle.store.releaseLease({
    revision: REVISION,
    leaseId,
    outcome: "done",
    status: 200,
    serviceMs: 1,
  });

/** A waiting request is handed a slot by a release, and hears of it on its own channel. */
async function handsOver(
  handle: StoreHandle,
  heard: readonly string[],
  name: string,
): Promise<void> {
  const { store } = handle;
  expect(await store.acquireLease(acquireRequest(`${name}-1`))).toMatchObject({ kind: "leased" });
  expect(await store.acquireLease(acquireRequest(`${name}-2`))).toMatchObject({ kind: "waiting" });
  await release(handle, `${name}-1`);
  await eventually(() => heard.includes(`${name}-2`));
  await release(handle, `${name}-2`);
}

describe("behind Sentinels", () => {
  test("a promoted replica has its client within 2 s, subscriptions included", async () => {
    const set = await startSentinelSet();
    closers.push(() => set.stop());
    const handle = await open(set.url);
    const heard: string[] = [];
    let subscriptions = 0;
    handle.subscriber.onResubscribed(() => (subscriptions += 1));
    handle.subscriber.onAssignment(({ leaseId }) => heard.push(leaseId));
    await handle.ready();
    await handle.store.configureRevision(revisionConfig());
    await report(handle, 1);
    await handsOver(handle, heard, "before");
    await eventually(async () => (await set.replica.admin.dbsize()) > 0);

    process.kill(set.primary.pid, "SIGKILL");
    const call = handle.store.configureRevision(revisionConfig({ queueDepth: 7 }));
    await eventually(async () => (await set.primaryPort()) === set.replica.port, {
      timeoutMs: 15_000,
    });
    const promotedAt = performance.now();
    // Longer than a call's own patience it may take until the Sentinels agree.
    await call.catch(() => handle.store.configureRevision(revisionConfig({ queueDepth: 7 })));
    expect(performance.now() - promotedAt).toBeLessThan(2_000);
    await eventually(() => subscriptions === 2);
    await handsOver(handle, heard, "after");
    expect(await handle.store.readRevision(REVISION)).toMatchObject({ queueDepth: 7 });
  });

  test("a Sentinel that answers nothing is nobody's news", async () => {
    const set = await startSentinelSet();
    closers.push(() => set.stop());
    const printed = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const handle = await open(set.url);
    await handle.ready();
    // One goes on, so the primary is found; of the others promotions are listened for in vain.
    const silent = set.sentinelPids.slice(1);
    for (const pid of silent) process.kill(pid, "SIGSTOP");
    await set.primary.admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await eventually(() => handle.ping().then(() => true), { timeoutMs: 20_000 });
    const isPrinted = eventually(() => printed.mock.calls.length > 0, { timeoutMs: 3_000 });
    await expect(isPrinted).rejects.toThrow();
    for (const pid of silent) process.kill(pid, "SIGCONT");
    printed.mockRestore();
  });
});

describe("as a cluster", () => {
  test("every primary has the functions, a slot may move, and messages reach all", async () => {
    const cluster = await startValkeyCluster();
    closers.push(() => cluster.stop());
    const handle = await open(cluster.url);
    const heard: string[] = [];
    handle.subscriber.onAssignment(({ leaseId }) => heard.push(leaseId));
    await handle.ready();
    for (const { admin } of cluster.nodes) {
      expect(await admin.function("LIST")).toHaveLength(1);
    }
    await handle.store.configureRevision(revisionConfig());
    await report(handle, 1);
    await handsOver(handle, heard, "before");

    const slot = await cluster.slotOf(`sets:{${REVISION}}:meta`);
    const owner = await cluster.ownerOf(slot);
    const other = cluster.nodes.find((node) => node.port !== owner.port);
    if (other === undefined) throw new Error("one node only");
    const calls = Array.from({ length: 20 }, (_, i) =>
      handle.store.acquireLease(acquireRequest(`moving-${i}`)),
    );
    await Promise.all([...calls, cluster.moveSlot(slot, other)]);
    expect((await cluster.ownerOf(slot)).port).toBe(other.port);
    for (let i = 0; i < 20; i += 1) await release(handle, `moving-${i}`);
    await handsOver(handle, heard, "after");
    expect((await handle.store.readTargets(REVISION))[0]).toMatchObject({ inFlight: 0 });
    expect(await handle.store.listRevisions()).toEqual([REVISION]);
  });

  test("revisions in different slots live on different nodes", async () => {
    const cluster = await startValkeyCluster();
    closers.push(() => cluster.stop());
    const handle = await open(cluster.url);
    for (let i = 0; i < 12; i += 1) {
      await handle.store.configureRevision(revisionConfig({ revision: `r-${i}` }));
    }
    for (const { admin } of cluster.nodes) expect(await admin.dbsize()).toBeGreaterThan(0);
    expect(await handle.store.listRevisions()).toHaveLength(12);
  });
});
