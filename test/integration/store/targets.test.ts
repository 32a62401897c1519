/** States of a target: pushes in order, doubt, quarantine, drain, tombstones, full comparison. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
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

function newRig(): StoreRig {
  const rig = new StoreRig(server);
  rigs.push(rig);
  return rig;
}

const pod = (uid: string, draining = false) => ({ uid, podName: `pod-${uid}`, draining, card: "" });

describe("pushes", () => {
  test("an older push changes nothing, a new life of the sidecar counts from its boot number", async () => {
    const rig = await newRig().start();
    await rig.report("a", { boot: 5, sequence: 9 });
    const old = await rig.report("a", { boot: 5, sequence: 8, state: "unready" });
    expect(old).toMatchObject({ kind: "stale", bootOnRecord: 5, sequenceOnRecord: 9 });
    const past = await rig.report("a", { boot: 4, sequence: 99, state: "draining" });
    expect(past).toMatchObject({ kind: "stale", state: "ready" });
    expect(await rig.report("a", { boot: 6, sequence: 1, state: "starting" })).toMatchObject({
      kind: "accepted",
      state: "starting",
    });
    expect(await rig.target("a")).toMatchObject({ admission: 1 });
  });

  test("the order of targets is that of their first readiness, for ever", async () => {
    const rig = await newRig().start();
    for (const uid of ["b", "a"]) await rig.report(uid);
    await rig.report("b", { state: "unready" });
    await rig.report("b");
    expect(await rig.choose()).toBe("b");
  });

  test("heartbeats of unknown pods and of other lives ask for the whole state", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    expect(await rig.beat("a", "x")).toEqual(["x"]);
    const reborn = [{ podUid: "a", boot: 2, sequence: 1 }];
    expect(await rig.store.reportHeartbeats(REVISION, reborn)).toEqual(["a"]);
  });

  test("a pod first seen with requests running gets none before its next report", async () => {
    const rig = await newRig().start();
    await rig.report("a", { inFlight: 1 });
    expect(await rig.choose()).toBe("wait");
    await rig.beat("a");
    expect(await rig.store.askTicket(REVISION, "r1")).toMatchObject({ kind: "leased" });
  });

  test("work that goes on after its caller left keeps the slot taken", async () => {
    const rig = await newRig().start();
    await rig.report("a", { occupied: 1, reportsRunning: true });
    expect(await rig.choose()).toBe("wait");
    await rig.report("a", { occupied: 0, reportsRunning: true });
    expect(await rig.store.askTicket(REVISION, "r1")).toMatchObject({ kind: "leased" });
  });
});

describe("doubt", () => {
  test("three silent periods make a target suspected, ten seconds more delete it", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    await rig.liveMs(2_500);
    expect(await rig.state("a")).toBe("ready");
    rig.passMs(500);
    expect(await rig.store.renewActivator(REVISION, "act-1")).toMatchObject({
      probes: [{ targetUid: "a", address: "127.0.0.9:8012", state: "suspected" }],
    });
    await rig.liveMs(9_500);
    expect(await rig.state("a")).toBe("suspected");
    await rig.liveMs(500);
    expect(await rig.state("a")).toBe("deleted");
    // A newer event brings it back as if first seen.
    expect(await rig.report("a")).toMatchObject({ kind: "accepted", state: "ready" });
    expect(await rig.target("a")).toMatchObject({ admission: 2 });
  });

  test("a suspected target serves only when no ready one is free; a heartbeat clears it", async () => {
    const rig = await newRig().start();
    for (const uid of ["a", "b"]) await rig.report(uid, { capacity: 2 });
    await rig.store.reportEvidence(REVISION, "a", "", "push-lost");
    expect([await rig.choose(), await rig.choose(), await rig.choose()]).toEqual(["b", "b", "a"]);
    await rig.beat("a");
    expect(await rig.state("a")).toBe("ready");
  });

  test("a failed probe deletes a silent target, a passed one is as good as a heartbeat", async () => {
    const rig = await newRig().start();
    for (const uid of ["a", "b"]) {
      await rig.report(uid);
      await rig.store.reportEvidence(REVISION, uid, "", "push-lost");
    }
    await rig.store.reportProbe(REVISION, "a", true);
    await rig.store.reportProbe(REVISION, "b", false);
    expect([await rig.state("a"), await rig.state("b")]).toEqual(["ready", "deleted"]);
  });

  test("the first reset of a reused connection is forgiven, the second is not", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    await rig.store.reportEvidence(REVISION, "a", "", "reset-reused");
    expect(await rig.state("a")).toBe("ready");
    await rig.store.reportEvidence(REVISION, "a", "", "reset-reused");
    expect(await rig.state("a")).toBe("suspected");
  });

  test("a pod that says it is full is full until its next report", async () => {
    const rig = await newRig().start();
    await rig.report("a", { capacity: 2 });
    await rig.choose();
    await rig.store.reportEvidence(REVISION, "a", "r1", "pod-full");
    expect(await rig.choose()).toBe("wait");
    await rig.release("r1", "not-delivered");
    expect(await rig.store.askTicket(REVISION, "r2")).toMatchObject({ kind: "waiting" });
    await rig.beat("a");
    expect(await rig.store.askTicket(REVISION, "r2")).toMatchObject({ kind: "leased" });
  });

  test("a store that stood still makes no target suspected", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    rig.passMs(60_000);
    await rig.store.renewActivator(REVISION, "act-1");
    expect(await rig.state("a")).toBe("ready");
  });
});

describe("quarantine", () => {
  test("a refused connect takes a target out at once; the period doubles with each failed probe", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    const startMs = rig.nowUs / 1_000;
    await rig.store.reportEvidence(REVISION, "a", "", "connect-failed");
    expect(await rig.target("a")).toMatchObject({
      state: "quarantined",
      quarantinedUntil: startMs + 1_000,
    });
    expect(await rig.choose()).toBe("wait");
    await rig.store.reportProbe(REVISION, "a", true);
    expect(await rig.state("a")).toBe("quarantined");
    rig.passMs(1_000);
    await rig.beat("a");
    expect(await rig.store.renewActivator(REVISION, "act-1")).toMatchObject({
      probes: [{ targetUid: "a", state: "quarantined" }],
    });
    await rig.store.reportProbe(REVISION, "a", false);
    expect(await rig.target("a")).toMatchObject({ quarantinedUntil: startMs + 3_000 });
    rig.passMs(2_000);
    await rig.store.reportProbe(REVISION, "a", true);
    expect(await rig.store.askTicket(REVISION, "r1")).toMatchObject({ kind: "leased" });
  });

  test("a target that never recovers is evicted and named once to who replaces pods", async () => {
    const rig = await newRig().start({ quarantineMaxMs: 4_000 });
    await rig.report("a");
    await rig.store.reportEvidence(REVISION, "a", "", "connect-failed");
    for (let second = 0; second < 4; second += 1) {
      await rig.beat("a");
      await rig.liveMs(1_000);
      await rig.store.reportProbe(REVISION, "a", false);
    }
    expect(await rig.state("a")).toBe("deleted");
    expect(await rig.report("a")).toMatchObject({ kind: "buried" });
    const look = await rig.store.readFigures(REVISION, { record: false });
    const take = await rig.store.readFigures(REVISION, { record: true });
    const again = await rig.store.readFigures(REVISION, { record: true });
    expect([look.evicted, take.evicted, again.evicted]).toEqual([["a"], ["a"], []]);
  });

  test("T4: at most a quarter goes to quarantine by evidence, the others are suspected", async () => {
    const rig = await newRig().start();
    const uids = Array.from({ length: 8 }, (_, index) => `t${index}`);
    for (const uid of uids) await rig.report(uid);
    for (const uid of uids) await rig.store.reportEvidence(REVISION, uid, "", "connect-failed");
    const { targetsByState } = await rig.store.readFigures(REVISION, { record: false });
    expect(targetsByState).toMatchObject({ quarantined: 2, suspected: 6, ready: 0 });
  });

  test("T7: one refused and then silent is deleted by the next refusal, whatever the bound says", async () => {
    const rig = await newRig().start();
    for (const uid of ["a", "b"]) {
      await rig.report(uid);
      await rig.store.reportEvidence(REVISION, uid, "", "connect-failed");
    }
    // The second one is beyond the bound. An activator near a broken network may refuse it for ever.
    await rig.store.reportEvidence(REVISION, "b", "", "connect-failed");
    expect(await rig.state("b")).toBe("suspected");
    await rig.store.reportEvidence(REVISION, "b", "", "push-lost");
    expect(await rig.state("b")).toBe("suspected");
    await rig.store.reportEvidence(REVISION, "b", "", "connect-failed");
    expect(await rig.state("b")).toBe("deleted");
    expect(await rig.report("b")).toMatchObject({ kind: "accepted", state: "ready" });
  });

  test("a flapping target goes to quarantine when it says ready once more", async () => {
    const rig = await newRig().start({ flapThreshold: 2 });
    for (const state of ["ready", "unready", "ready", "unready"] as const) {
      await rig.report("a", { state });
    }
    expect(await rig.report("a")).toMatchObject({ state: "quarantined" });
  });

  test.each([2, 3, 100])("the %i. change within a minute is flapping, no sooner", async (most) => {
    const rig = await newRig().start({ flapThreshold: most });
    const states: string[] = [];
    for (let change = 1; change <= most; change += 1) {
      states.push((await rig.report("a")).state);
      await rig.report("a", { state: "unready" });
    }
    expect(new Set(states)).toEqual(new Set(["ready"]));
    expect(await rig.report("a")).toMatchObject({ state: "quarantined" });
  });

  test("of old and young changes the young ones count", async () => {
    const rig = await newRig().start({ flapThreshold: 3 });
    for (const pauseMs of [0, 61_000, 0, 0]) {
      rig.passMs(pauseMs);
      expect(await rig.report("a")).toMatchObject({ state: "ready" });
      await rig.report("a", { state: "unready" });
    }
    expect(await rig.report("a")).toMatchObject({ state: "quarantined" });
  });

  test("changes older than a minute do not count as flapping", async () => {
    const rig = await newRig().start({ flapThreshold: 2 });
    await rig.report("a");
    await rig.report("a", { state: "unready" });
    rig.passMs(61_000);
    await rig.report("a");
    await rig.report("a", { state: "unready" });
    expect(await rig.report("a")).toMatchObject({ state: "ready" });
  });

  test("T3: a target returns with its count and place", async () => {
    const rig = await newRig().start();
    await rig.report("a", { capacity: 2 });
    await rig.choose();
    await rig.store.reportEvidence(REVISION, "a", "", "connect-failed");
    rig.passMs(1_000);
    await rig.store.reportProbe(REVISION, "a", true);
    expect(await rig.target("a")).toMatchObject({ state: "ready", inFlight: 1, admission: 1 });
  });
});

describe("drain and tombstones", () => {
  test("F06: a drained target gets nothing new and leaves with its last lease, for good", async () => {
    const rig = await newRig().start();
    await rig.report("a", { capacity: 4 });
    await rig.choose();
    await rig.store.drainTarget(REVISION, "a", "scale-down");
    expect(await rig.choose()).toBe("wait");
    expect(await rig.report("a")).toMatchObject({ state: "draining", idle: false });
    await rig.release("r1");
    expect(await rig.state("a")).toBe("deleted");
    expect(await rig.report("a")).toMatchObject({ kind: "buried", state: "deleted", idle: true });
    await rig.store.comparePods(REVISION, [pod("a")]);
    expect(await rig.state("a")).toBe("deleted");
  });

  test("leases of a removed target end without harm", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    await rig.choose();
    await rig.store.removeTarget(REVISION, "a", "gone");
    expect(await rig.store.readFigures(REVISION, { record: false })).toMatchObject({ busy: 1 });
    await rig.release("r1");
    expect(await rig.store.readFigures(REVISION, { record: false })).toMatchObject({ busy: 0 });
  });

  test("a target that was away keeps the slots of the requests that still run there", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    await rig.choose();
    await rig.store.reportEvidence(REVISION, "a", "", "misdirected");
    await rig.report("a");
    expect(await rig.target("a")).toMatchObject({ state: "ready", inFlight: 1 });
    expect(await rig.choose()).toBe("wait");
  });

  test("tombstones end after ten minutes, unless their pod still exists", async () => {
    const rig = await newRig().start();
    for (const uid of ["a", "b"]) {
      await rig.report(uid);
      await rig.store.removeTarget(REVISION, uid, "gone");
    }
    rig.passMs(400_000);
    await rig.store.comparePods(REVISION, [pod("a")]);
    rig.passMs(300_000);
    await rig.store.readFigures(REVISION, { record: false });
    expect(await rig.report("a")).toMatchObject({ kind: "buried" });
    expect(await rig.report("b")).toMatchObject({ kind: "accepted" });
  });

  test("F01: the full comparison adds, drains and deletes; a pod younger than the list is spared", async () => {
    const rig = await newRig().start();
    for (const uid of ["a", "b", "c"]) await rig.report(uid);
    await rig.choose();
    rig.passMs(6_000);
    await rig.report("young");
    await rig.store.comparePods(REVISION, [pod("a", true), pod("b"), pod("new")]);
    const states = await Promise.all(["a", "b", "c", "new", "young"].map((uid) => rig.state(uid)));
    expect(states).toEqual(["draining", "ready", "deleted", "starting", "ready"]);
    expect(await rig.report("c")).toMatchObject({ kind: "buried" });
    // Known from the list alone, so the list alone decides.
    await rig.store.comparePods(REVISION, [pod("a", true), pod("b")]);
    expect([await rig.state("new"), await rig.state("young")]).toEqual(["deleted", "ready"]);
  });

  test("a goodbye ends the pod's life in routing", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    expect(await rig.report("a", { kind: "goodbye" })).toMatchObject({ state: "deleted" });
    expect(await rig.report("a")).toMatchObject({ kind: "buried" });
  });
});

describe("cancelled work", () => {
  test("a container that reports its number keeps the slot until it confirms the end", async () => {
    const rig = await newRig().start();
    await rig.report("a", { reportsRunning: true });
    await rig.choose();
    await rig.store.acquireLease(acquireRequest("next"));
    await rig.release("r1", "cancelled");
    expect(await rig.target("a")).toMatchObject({ inFlight: 1 });
    expect(await rig.beat("a")).toEqual(["a"]);
    const { ask } = await rig.report("a", { reportsRunning: true, occupied: 1 });
    expect(ask).toEqual(["r1"]);
    await rig.report("a", { reportsRunning: true, occupied: 1, asked: ask, running: ["r1"] });
    expect(await rig.store.askTicket(REVISION, "next")).toMatchObject({ kind: "waiting" });
    await rig.report("a", { reportsRunning: true, asked: ask });
    expect(await rig.store.askTicket(REVISION, "next")).toMatchObject({ kind: "leased" });
  });

  test("F04: without that, a caller who leaves frees the slot at once", async () => {
    const rig = await newRig().start();
    await rig.report("a");
    await rig.choose();
    await rig.store.acquireLease(acquireRequest("next"));
    await rig.release("r1", "cancelled");
    expect(await rig.store.askTicket(REVISION, "next")).toMatchObject({ kind: "leased" });
  });
});
