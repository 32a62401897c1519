/** Life of a request in the store: slots, queue, hand-over, repeated calls, places kept. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Assignment } from "../../../common/contracts/channels.ts";
import type { RevisionKey } from "../../../common/contracts/routing.ts";
import { eventually } from "../../support/eventually.ts";
import { REVISION, acquireRequest, revisionConfig } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import type { RigOptions } from "../../support/store-rig.ts";
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

function newRig(options: RigOptions = {}): StoreRig {
  const rig = new StoreRig(server, options);
  rigs.push(rig);
  return rig;
}

describe("slots", () => {
  test("F03: requests of one instant through two activators never share a slot", async () => {
    const one = await newRig().start();
    const other = newRig({ prefix: one.prefix, activatorId: "act-2" });
    for (const uid of ["a", "b", "c", "d"]) await one.report(uid);
    for (let round = 0; round < 100; round += 1) {
      const ids = [0, 1, 2, 3].map((call) => `f03-${round}-${call}`);
      const results = await Promise.all(
        ids.map((leaseId, call) =>
          (call < 2 ? one : other).store.acquireLease(
            acquireRequest(leaseId, { activatorId: call < 2 ? "act-1" : "act-2" }),
          ),
        ),
      );
      const uids = results.map((result) =>
        result.kind === "leased" ? result.lease.targetUid : "",
      );
      expect(new Set(uids)).toEqual(new Set(["a", "b", "c", "d"]));
      await Promise.all(ids.map((leaseId) => one.release(leaseId)));
    }
  });

  test("the same acquire twice takes one slot, the same release twice frees one", async () => {
    const rig = await newRig().start();
    await rig.report("a", { capacity: 2 });
    const request = acquireRequest("r1");
    const first = await rig.store.acquireLease(request);
    expect(await rig.store.acquireLease(request)).toEqual(first);
    await rig.store.acquireLease(acquireRequest("r2"));
    expect(await rig.target("a")).toMatchObject({ inFlight: 2 });
    await rig.release("r1");
    await rig.release("r1");
    expect(await rig.target("a")).toMatchObject({ inFlight: 1 });
  });

  test("without a free slot and without patience the answer is no-slot, and nothing is left", async () => {
    const rig = await newRig().start();
    expect(await rig.choose({ mayWait: false })).toBe("no-slot");
    const figures = await rig.store.readFigures(REVISION, { record: false });
    expect(figures).toMatchObject({ busy: 0, waiting: 0, arrivals: 0 });
  });

  test("a change of policy holds from the next choice on, and moves nothing", async () => {
    const rig = await newRig().start({ policy: "first-available" });
    for (const uid of ["a", "b", "c"]) await rig.report(uid, { capacity: 9 });
    expect([await rig.choose(), await rig.choose()]).toEqual(["a", "a"]);
    await rig.store.configureRevision(revisionConfig({ policy: "min-connections" }));
    expect([await rig.choose(), await rig.choose(), await rig.choose()]).toEqual(["b", "c", "b"]);
    await rig.store.configureRevision(revisionConfig({ policy: "round-robin" }));
    expect([await rig.choose(), await rig.choose()]).toEqual(["a", "b"]);
    expect(await rig.target("a")).toMatchObject({ inFlight: 3 });
  });
});

describe("queue", () => {
  test("order of service is order of arrival over all activators", async () => {
    const rig = await newRig().start();
    for (const [index, leaseId] of ["w1", "w2", "w3"].entries()) {
      rig.passMs(1);
      const activatorId = `act-${index % 2}`;
      await rig.store.acquireLease(acquireRequest(leaseId, { activatorId }));
    }
    await rig.report("a", { capacity: 2 });
    const kinds = await Promise.all(
      ["w1", "w2", "w3"].map(async (id) => (await rig.store.askTicket(REVISION, id)).kind),
    );
    expect(kinds).toEqual(["leased", "leased", "waiting"]);
  });

  test("a rerouted request keeps its place before later ones", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    const first = await rig.acquire();
    if (first.kind !== "leased") throw new Error("no slot");
    rig.passMs(5);
    await rig.store.acquireLease(acquireRequest("later"));
    await rig.store.reportEvidence(REVISION, "a", first.lease.leaseId, "pod-full");
    await rig.release(first.lease.leaseId, "not-delivered");
    const again = acquireRequest("rerouted", { arrivedAt: first.lease.arrivedAt });
    expect(await rig.store.acquireLease(again)).toMatchObject({
      kind: "waiting",
      arrivedAt: first.lease.arrivedAt,
    });
    await rig.report("b");
    expect(await rig.store.askTicket(REVISION, "rerouted")).toMatchObject({ kind: "leased" });
    expect(await rig.store.askTicket(REVISION, "later")).toMatchObject({ kind: "waiting" });
  });

  test("a ticket that excludes the free target is passed over, the next one gets it", async () => {
    const rig = await newRig().start();
    await rig.store.acquireLease(acquireRequest("picky", { exclude: ["a"] }));
    await rig.store.acquireLease(acquireRequest("easy"));
    await rig.report("a");
    expect(await rig.store.askTicket(REVISION, "picky")).toMatchObject({ kind: "waiting" });
    expect(await rig.store.askTicket(REVISION, "easy")).toMatchObject({ kind: "leased" });
  });

  test("a full queue refuses with the median wait, a rerouted request still gets in", async () => {
    const rig = await newRig().start({ queueDepth: 1 });
    await rig.report("a");
    await rig.acquire();
    await rig.acquire();
    rig.passMs(3_000);
    await rig.beat("a");
    await rig.store.renewActivator(REVISION, "act-1");
    await rig.release("r1");
    expect(await rig.choose()).toBe("wait");
    expect(await rig.acquire()).toEqual({ kind: "queue-full", retryAfterMs: 3_000 });
    expect(await rig.choose({ arrivedAt: rig.nowUs - 1 })).toBe("wait");
  });

  test("cancelling a waiting request ends it; one that was assigned must be released", async () => {
    const rig = await newRig().start();
    await rig.store.acquireLease(acquireRequest("w1"));
    await rig.store.acquireLease(acquireRequest("w2"));
    expect(await rig.store.cancelTicket(REVISION, "w1")).toBe(true);
    expect(await rig.store.cancelTicket(REVISION, "w1")).toBe(true);
    expect(await rig.store.askTicket(REVISION, "w1")).toEqual({ kind: "gone" });
    await rig.report("a");
    expect(await rig.store.cancelTicket(REVISION, "w2")).toBe(false);
    expect(await rig.target("a")).toMatchObject({ inFlight: 1 });
  });

  test("F09: new pods are given what waits, however many tickets there are", async () => {
    const rig = await newRig().start();
    const ids = Array.from({ length: 200 }, (_, index) => `w${index}`);
    for (const id of ids) await rig.store.acquireLease(acquireRequest(id));
    await rig.report("a", { capacity: 150 });
    await rig.report("b", { capacity: 50 });
    expect(await rig.target("a")).toMatchObject({ inFlight: 150 });
    expect(await rig.target("b")).toMatchObject({ inFlight: 50 });
  });

  test("assignments, wake-ups and changes of configuration are heard", async () => {
    const rig = newRig();
    const heard: Assignment[] = [];
    const woken: RevisionKey[] = [];
    const configured: RevisionKey[] = [];
    rig.handle.subscriber.onAssignment((assignment) => heard.push(assignment));
    rig.handle.subscriber.onWake((revision) => woken.push(revision));
    rig.handle.subscriber.onConfig((revision) => configured.push(revision));
    await rig.start();
    await rig.store.configureRevision(revisionConfig());
    const waiting = await rig.acquire();
    await rig.report("a");
    await eventually(() => heard.length === 1);
    expect(heard).toEqual([
      {
        revision: REVISION,
        leaseId: "r1",
        targetUid: "a",
        address: "127.0.0.9:8012",
        arrivedAt: waiting.kind === "waiting" ? waiting.arrivedAt : 0,
        grantedAt: rig.nowUs,
      },
    ]);
    expect(woken).toEqual([REVISION]);
    // The same configuration again is no change.
    expect(configured).toEqual([REVISION]);
  });

  test("the autoscaler is woken by each request without a ready pod, then by the first that waits", async () => {
    const rig = newRig();
    let woken = 0;
    rig.handle.subscriber.onWake(() => (woken += 1));
    await rig.start();
    await rig.acquire();
    await rig.acquire();
    await rig.report("a", { capacity: 2 });
    await rig.acquire();
    await rig.acquire();
    await rig.store.acquireLease(acquireRequest("last"));
    // Two at zero, one for the first in the queue of busy pods; pub/sub keeps the order.
    await eventually(() => woken === 3);
    expect(woken).toBe(3);
  });
});

describe("figures", () => {
  test("the integral is exact and arrivals count once", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    await rig.acquire();
    rig.passMs(100);
    await rig.acquire();
    await rig.store.acquireLease(acquireRequest("r2"));
    rig.passMs(50);
    await rig.release("r1");
    rig.passMs(10);
    const figures = await rig.store.readFigures(REVISION, { record: true });
    expect(figures).toMatchObject({ arrivals: 2, busy: 1, waiting: 0, at: rig.nowUs });
    expect(figures.concurrencyIntegral).toBe(100_000 + 2 * 50_000 + 10_000);
  });

  test("waiting requests are aged after scale-up-delay, all of them when no pod is ready", async () => {
    const rig = await newRig().start({ scaleUpDelayMs: 1_000 });
    await rig.acquire();
    const cold = await rig.store.readFigures(REVISION, { record: false });
    expect(cold).toMatchObject({ waiting: 1, aged: 1, oldestArrivedAt: rig.nowUs });
    await rig.report("a");
    rig.passMs(10);
    await rig.acquire();
    rig.passMs(999);
    expect(await rig.store.readFigures(REVISION, { record: false })).toMatchObject({ aged: 0 });
    rig.passMs(1);
    expect(await rig.store.readFigures(REVISION, { record: false })).toMatchObject({ aged: 1 });
  });

  test("samples of an idle revision do not pile up", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    for (let tick = 0; tick < 20; tick += 1) {
      rig.passMs(2_000);
      await rig.store.readFigures(REVISION, { record: true });
    }
    expect(await rig.store.readSamples(REVISION)).toHaveLength(2);
    await rig.acquire();
    rig.passMs(2_000);
    await rig.store.readFigures(REVISION, { record: true });
    const samples = await rig.store.readSamples(REVISION);
    expect(samples.at(-1)).toEqual({ at: rig.nowUs, concurrencyIntegral: 2_000_000, arrivals: 1 });
  });

  test("F10: a clock that goes back takes nothing away", async () => {
    const rig = await newRig().start();
    await rig.acquire();
    const before = await rig.store.readFigures(REVISION, { record: false });
    rig.passMs(-60_000);
    const after = await rig.store.readFigures(REVISION, { record: false });
    expect(after).toMatchObject({ at: before.at, waiting: 1, concurrencyIntegral: 0 });
  });

  test("the event log holds what each script did, in order", async () => {
    const rig = await newRig().start();
    await rig.store.recordEvents(REVISION, true);
    await rig.acquire();
    await rig.report("a");
    await rig.release("r1");
    const events = await rig.store.readEvents(REVISION);
    expect(events.map(({ operation }) => operation)).toEqual([
      "wait",
      "state",
      "assign",
      "report",
      "release",
    ]);
    expect(events[2]).toMatchObject({ target: "a", lease: "r1", inFlight: 1, waiting: 0 });
    await rig.store.recordEvents(REVISION, false);
    expect(await rig.store.readEvents(REVISION)).toEqual([]);
  });
});
