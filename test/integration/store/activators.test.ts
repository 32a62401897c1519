/** Activators that die, leave, stand still and come back: what becomes of what they held. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Lease } from "../../../store/types.ts";
import { REVISION, acquireRequest } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
const rigs: StoreRig[] = [];
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function startRig(): Promise<StoreRig> {
  const rig = new StoreRig(server);
  rigs.push(rig);
  return rig.start();
}

async function waiting(rig: StoreRig): Promise<number> {
  return (await rig.store.readFigures(REVISION, { record: false })).waiting;
}

/** Act-2 renews and the pod beats for a while; act-1 is silent. */
async function withoutFirst(rig: StoreRig, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await rig.liveMs(500, "act-2");
    await rig.beat("a");
  }
}

describe("lapsed activators", () => {
  test("what a dead activator held is free when the pod has said that it ended", async () => {
    const rig = await startRig();
    await rig.report("a");
    await rig.store.renewActivator(REVISION, "act-1");
    await rig.choose();
    await withoutFirst(rig, 2_000);
    await rig.store.acquireLease(acquireRequest("next", { activatorId: "act-2" }));
    expect((await rig.report("a")).ask).toEqual([]);
    await withoutFirst(rig, 2_000);
    const { ask } = await rig.report("a");
    expect(ask).toEqual(["r1"]);
    expect(await rig.store.askTicket(REVISION, "next")).toMatchObject({ kind: "waiting" });
    await rig.report("a", { asked: ask, running: [] });
    expect(await rig.store.askTicket(REVISION, "next")).toMatchObject({ kind: "leased" });
  });

  test("a freed slot goes past the tickets of a dead activator to a live one", async () => {
    const rig = await startRig();
    await rig.report("a");
    await rig.store.acquireLease(acquireRequest("running", { activatorId: "act-2" }));
    await rig.store.acquireLease(acquireRequest("dead", { activatorId: "act-1" }));
    rig.passMs(1);
    await rig.store.acquireLease(acquireRequest("alive", { activatorId: "act-2" }));
    // Nobody sweeps: the release itself must see that act-1 is gone.
    for (let step = 0; step < 8; step += 1) {
      rig.passMs(500);
      await rig.beat("a");
      await rig.store.acquireLease(
        acquireRequest(`tick-${step}`, { activatorId: "act-2", arrivedAt: rig.nowUs }),
      );
    }
    await rig.release("running");
    expect(await rig.store.askTicket(REVISION, "dead")).toEqual({ kind: "gone" });
    expect(await rig.store.askTicket(REVISION, "alive")).toMatchObject({ kind: "leased" });
  });

  test("an activator that leaves takes its tickets along, and its leases are asked about", async () => {
    const rig = await startRig();
    await rig.report("a", { capacity: 200 });
    for (let lease = 0; lease < 150; lease += 1) await rig.choose();
    await rig.store.acquireLease(acquireRequest("w", { exclude: ["a"] }));
    await rig.store.leaveRevision(REVISION, "act-1");
    expect(await waiting(rig)).toBe(0);
    const { ask } = await rig.report("a", { capacity: 200 });
    expect(ask).toHaveLength(32);
    await rig.report("a", { capacity: 200, asked: ask });
    expect(await rig.target("a")).toMatchObject({ inFlight: 118 });
  });

  test("what a dead activator held on a pod that is gone is free at once", async () => {
    const rig = await startRig();
    await rig.report("a");
    await rig.choose();
    await rig.store.leaveRevision(REVISION, "act-1");
    await rig.store.removeTarget(REVISION, "a", "gone");
    expect(await rig.store.readFigures(REVISION, { record: false })).toMatchObject({ busy: 0 });
  });

  test("a store that stood still ends nobody's lease", async () => {
    const rig = await startRig();
    await rig.acquire();
    rig.passMs(30_000);
    await rig.store.renewActivator(REVISION, "act-2");
    rig.passMs(900);
    await rig.store.renewActivator(REVISION, "act-2");
    expect(await waiting(rig)).toBe(1);
    await rig.liveMs(5_000, "act-2");
    expect(await waiting(rig)).toBe(0);
  });

  test("a stall shorter than the gap that is noticed ends no lease either", async () => {
    const rig = await startRig();
    await rig.acquire();
    rig.passMs(900);
    await rig.store.renewActivator(REVISION, "act-2");
    rig.passMs(2_400);
    await rig.store.renewActivator(REVISION, "act-2");
    expect(await waiting(rig)).toBe(1);
  });
});

describe("putting back", () => {
  const lost = (leaseId: string, targetUid: string): Lease => ({
    leaseId,
    targetUid,
    address: "127.0.0.9:8012",
    arrivedAt: 1_700_000_000_000_000,
    grantedAt: 1_700_000_000_000_000,
  });

  test("leases come back after a loss, before or after their pod was heard", async () => {
    const rig = await startRig();
    await rig.report("a", { inFlight: 1 });
    await rig.store.reassertLeases(REVISION, "act-1", [lost("x1", "a"), lost("x2", "b")]);
    await rig.store.reassertLeases(REVISION, "act-1", [lost("x1", "a"), lost("x2", "b")]);
    await rig.report("b", { inFlight: 1 });
    expect(await rig.choose()).toBe("wait");
    expect(await rig.target("a")).toMatchObject({ inFlight: 1 });
    expect(await rig.target("b")).toMatchObject({ inFlight: 1, state: "ready" });
    await rig.release("x2");
    expect(await rig.store.askTicket(REVISION, "r1")).toMatchObject({ kind: "leased" });
  });

  test("an activator that was away takes its leases back before the pod answers", async () => {
    const rig = await startRig();
    await rig.report("a");
    await rig.choose();
    await rig.store.leaveRevision(REVISION, "act-1");
    const { ask } = await rig.report("a");
    await rig.store.reassertLeases(REVISION, "act-1", [lost("r1", "a")]);
    await rig.report("a", { asked: ask });
    expect(await rig.target("a")).toMatchObject({ inFlight: 1 });
    await rig.release("r1");
    expect(await rig.target("a")).toMatchObject({ inFlight: 0 });
  });

  test("a placeholder of a pod that is never heard goes away", async () => {
    const rig = await startRig();
    await rig.store.reassertLeases(REVISION, "act-1", [lost("r1", "b")]);
    expect(await rig.state("b")).toBe("starting");
    await rig.liveMs(10_500);
    expect(await rig.state("b")).toBe("deleted");
  });
});
