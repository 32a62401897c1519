/**
 * The shared queue beyond arrival: levels, tenants with shares, a bound on waiting, a live change of
 * order, refusal of hopeless calls, and early binding with calls that move to idle pods.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { CallDetails, StealOffer } from "../../../store/types.ts";
import { eventually } from "../../support/eventually.ts";
import { dumpRouting } from "../../support/routing-dump.ts";
import { findFaults } from "../../support/routing-invariants.ts";
import { REVISION, acquireRequest, revisionConfig } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const S = 1_000_000;

let server: ValkeyServer;
let rig: StoreRig;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
beforeEach(() => {
  rig = new StoreRig(server);
});
afterEach(async () => {
  expect(findFaults(await dumpRouting(server.admin, rig.prefix, REVISION))).toEqual([]);
  await rig.close();
});

const wait = async (id: string, call?: CallDetails): Promise<string> => {
  const result = await rig.store.acquireLease(
    acquireRequest(id, call === undefined ? {} : { call }),
  );
  return result.kind === "leased" ? result.lease.targetUid : result.kind;
};
const isLeased = async (id: string): Promise<boolean> =>
  (await rig.store.askTicket(REVISION, id)).kind === "leased";

/** Frees the slot of `running` again and again: who got it, in this order. */
async function serve(running: string, ids: readonly string[]): Promise<string[]> {
  const started: string[] = [];
  let current = running;
  for (const _ of ids) {
    await rig.release(current);
    let next = "nobody";
    for (const id of ids) {
      if (!started.includes(id) && (await isLeased(id))) next = id;
    }
    current = next;
    started.push(next);
  }
  return started;
}

const tenant = (name: string, weight = 1): CallDetails => ({ tenant: { name, weight } });

describe("F30: low priority does not starve", () => {
  const LOW = Array.from({ length: 10 }, (_, index) => `low-${index}`);
  const LIMIT_S = 120;

  test("ten low ones are served within their limit beside a full load of urgent ones", async () => {
    await rig.start({ queueOrder: "urgency", starvationLimitMs: 60_000 });
    await rig.report("a");
    await wait("running");
    const arrivals = new Map<string, number>();
    for (const id of LOW) {
      arrivals.set(id, rig.nowUs);
      expect(await wait(id)).toBe("waiting");
      rig.passMs(1);
    }
    const started: { readonly id: string; readonly waitedS: number }[] = [];
    const waiting = new Set(LOW);
    let running = "running";
    // Five minutes of one urgent call a second; each call takes the pod's only slot for a second.
    for (let second = 0; second < 300; second += 1) {
      const id = `high-${second}`;
      arrivals.set(id, rig.nowUs);
      if ((await wait(id, { plan: { sloUs: 2 * S, restUs: S } })) === "waiting") waiting.add(id);
      rig.passMs(1_000);
      await rig.store.renewActivator(REVISION, "act-1");
      await rig.beat("a");
      await rig.release(running);
      const { requests } = await dumpRouting(server.admin, rig.prefix, REVISION);
      running = [...requests].find(([, { kind }]) => kind === "lease")?.[0] ?? "nobody";
      expect(waiting.delete(running)).toBe(true);
      const waitedS = (rig.nowUs - (arrivals.get(running) ?? 0)) / S;
      started.push({ id: running, waitedS });
    }
    const low = started.filter(({ id }) => id.startsWith("low"));
    expect(low.map(({ id }) => id)).toEqual(LOW);
    expect(Math.max(...low.map(({ waitedS }) => waitedS))).toBeLessThanOrEqual(LIMIT_S);
    // Nobody is served twice, and the urgent ones have nearly all of the rest.
    expect(started.length - low.length).toBeGreaterThan(280);
    const high = started.filter(({ id }) => id.startsWith("high")).map(({ id }) => id);
    expect(new Set(high).size).toBe(high.length);
  }, 120_000);

  test("a caller cannot raise its level beyond the bounds", async () => {
    await rig.start();
    await rig.report("a");
    await wait("running");
    await wait("usual", { priority: 7 });
    await wait("bold", { priority: 1_000 });
    expect(await serve("running", ["usual", "bold"])).toEqual(["usual", "bold"]);
  });
});

describe("levels and tenants", () => {
  test("a higher level goes first, within a level who came first", async () => {
    await rig.start();
    await rig.report("a");
    await wait("running");
    const levels = { a: 0, b: 2, c: 0, d: 2, e: -1 };
    for (const [id, priority] of Object.entries(levels)) await wait(id, { priority });
    expect(await serve("running", Object.keys(levels))).toEqual(["b", "d", "a", "c", "e"]);
  });

  test("tenants share the slots by their weights, whoever came in bulk", async () => {
    await rig.start();
    await rig.report("a");
    await wait("running");
    const ids: string[] = [];
    for (let index = 0; index < 9; index += 1) ids.push(`bulk-${index}`);
    for (const id of ids) await wait(id, tenant("bulk"));
    for (let index = 0; index < 6; index += 1) {
      ids.push(`small-${index}`);
      await wait(`small-${index}`, tenant("small", 2));
    }
    const started = (await serve("running", ids)).map((id) => id.split("-")[0]);
    // Of any nine slots the one with twice the weight has six, as long as it waits.
    expect(started.slice(0, 9).filter((name) => name === "small")).toHaveLength(6);
    expect(started.slice(9)).toEqual(Array.from({ length: 6 }, () => "bulk"));
  });

  test("who was away saves up nothing", async () => {
    await rig.start();
    await rig.report("a");
    await wait("running");
    for (const id of ["a-0", "a-1", "a-2", "a-3"]) await wait(id, tenant("a"));
    await wait("b-0", tenant("b"));
    expect(await serve("running", ["a-0", "b-0", "a-1"])).toEqual(["a-0", "b-0", "a-1"]);
    for (const id of ["c-0", "c-1", "c-2"]) await wait(id, tenant("c"));
    const rest = await serve("a-1", ["a-2", "a-3", "c-0", "c-1", "c-2"]);
    expect(rest.slice(0, 4).filter((id) => id.startsWith("c"))).toHaveLength(2);
  });

  test("nothing of a tenant is kept once nobody waits", async () => {
    await rig.start();
    await rig.report("a");
    await wait("running");
    for (let index = 0; index < 70; index += 1) await wait(`t-${index}`, tenant(`t${index}`));
    for (let index = 0; index < 70; index += 1)
      await rig.store.cancelTicket(REVISION, `t-${index}`);
    await rig.liveMs(1_000);
    const dump = await dumpRouting(server.admin, rig.prefix, REVISION);
    expect(dump.tenants.size).toBe(0);
    expect([...dump.meta.keys()].filter((name) => name.startsWith("v:"))).toEqual([]);
    expect(dump.meta.has("ranked")).toBe(false);
  });
});

describe("order", () => {
  test("changes live, for those that wait too", async () => {
    await rig.start();
    await rig.report("a");
    await wait("running");
    const slos = { slow: 90, fast: 3, middle: 20 };
    for (const [id, slo] of Object.entries(slos)) {
      await wait(id, { plan: { sloUs: slo * S, restUs: S } });
    }
    // More than one page of them is ranked anew.
    const plain = Array.from({ length: 100 }, (_, index) => `plain-${index}`);
    for (const id of plain) await wait(id);
    await rig.store.configureRevision(revisionConfig({ queueOrder: "edf_wf" }));
    const dump = await dumpRouting(server.admin, rig.prefix, REVISION);
    expect(dump.ranked).toHaveLength(103);
    expect(await serve("running", ["slow", "fast", "middle"])).toEqual(["fast", "middle", "slow"]);
    await rig.store.configureRevision(revisionConfig({ queueOrder: "fifo" }));
    expect(await serve("slow", ["plain-1", "plain-0"])).toEqual(["plain-0", "plain-1"]);
  });

  test("a call that comes again keeps its key and place", async () => {
    await rig.start({ queueOrder: "edf_wf" });
    await rig.report("a");
    const call = { plan: { sloUs: 5 * S, restUs: S } };
    const first = await rig.store.acquireLease(acquireRequest("moved", { call }));
    if (first.kind !== "leased") throw new Error("no slot");
    const { arrivedAt, order } = first.lease;
    rig.passMs(500);
    await wait("later", { plan: { sloUs: 4.6 * S, restUs: S } });
    await rig.release("moved", "moved");
    const again = await rig.store.acquireLease(acquireRequest("moved", { call, arrivedAt }));
    expect(again).toMatchObject({ kind: "waiting", arrivedAt });
    await rig.release("later");
    const served = await rig.store.askTicket(REVISION, "moved");
    expect(served).toMatchObject({ kind: "leased", lease: { arrivedAt, order } });
  });

  test("a hopeless call is refused only when it asks for that", async () => {
    await rig.start({ queueOrder: "urgency" });
    await rig.report("a");
    const lost = { plan: { sloUs: S, restUs: 3 * S } };
    expect(await wait("asks", { ...lost, rejectLate: true })).toBe("deadline-unreachable");
    expect(await wait("served", lost)).toBe("a");
    expect(await wait("in time", { plan: { sloUs: 2 * S, restUs: 3 * S }, rejectLate: true })).toBe(
      "waiting",
    );
  });
});

describe("early binding", () => {
  const early = { binding: "early", localQueue: 2 } as const;

  test("fills free slots first, then local queues up to their depth, then waits", async () => {
    await rig.start({ ...early, policy: "first-available" });
    for (const uid of ["a", "b"]) await rig.report(uid);
    const chosen: string[] = [];
    for (let call = 0; call < 7; call += 1) chosen.push(await wait(`r${call}`));
    expect(chosen).toEqual(["a", "b", "a", "a", "b", "b", "waiting"]);
  });

  test("an idle pod is offered the call that would start last", async () => {
    const offers: StealOffer[] = [];
    rig.handle.subscriber.onSteal((offer) => offers.push(offer));
    await rig.start({ ...early, policy: "min-connections" });
    await rig.handle.ready();
    await rig.report("a");
    for (const id of ["runs", "next", "last"]) expect(await wait(id)).toBe("a");
    await rig.report("b");
    await eventually(() => offers.length === 1, { what: "an offer" });
    expect(offers[0]).toMatchObject({ revision: REVISION, leaseId: "last", targetUid: "a" });
    const { lease } = (await rig.store.askTicket(REVISION, "last")) as {
      readonly lease: { readonly arrivedAt: number };
    };
    await rig.release("last", "moved");
    const moved = await rig.store.acquireLease(
      acquireRequest("last", { arrivedAt: lease.arrivedAt, exclude: ["a"] }),
    );
    expect(moved).toMatchObject({
      kind: "leased",
      lease: { targetUid: "b", arrivedAt: lease.arrivedAt },
    });
    // Each is offered once; what runs on a pod is nobody's to take.
    await rig.release("last");
    await eventually(() => offers.length === 2, { what: "the next offer" });
    expect(offers[1]?.leaseId).toBe("next");
  });

  test("calls of a draining pod go back with their place, and their work leaves with them", async () => {
    await rig.start({ ...early, policy: "speed-aware" });
    await rig.report("a", {}, "A");
    const workUs = new Map([["A", 3 * S]]);
    for (const id of ["runs", "waits"]) expect(await wait(id, { workUs })).toBe("a");
    expect((await rig.target("a"))?.outstandingUs).toBe(6 * S);
    await rig.store.drainTarget(REVISION, "a", "test");
    await rig.release("waits", "moved");
    expect((await rig.target("a"))?.outstandingUs).toBe(3 * S);
    expect(await wait("waits", { workUs })).toBe("waiting");
    await rig.report("b", {}, "A");
    expect(await isLeased("waits")).toBe(true);
  });

  test("ends live: what is bound stays, nothing new is", async () => {
    await rig.start({ ...early, policy: "first-available" });
    await rig.report("a");
    for (const id of ["runs", "waits"]) expect(await wait(id)).toBe("a");
    await rig.store.configureRevision(revisionConfig({ policy: "first-available" }));
    expect(await wait("late")).toBe("waiting");
    await rig.release("runs");
    expect(await isLeased("late")).toBe(false);
    await rig.release("waits");
    expect(await isLeased("late")).toBe(true);
  });
});
