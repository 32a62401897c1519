/** What the controller does around scaling: evictions, comparing pods, order of leaving, kpa, events. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ScalingRig } from "../../support/autoscaler-rig.ts";
import { fullKeys } from "../../support/autoscaler-decisions.ts";
import { SERVICE_KEY, scaledRevision } from "../../support/autoscaler-world.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";
import { renderMetrics } from "../../../autoscaler/metrics.ts";

let server: ValkeyServer;
let rig: ScalingRig;

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(() => rig.stop());

async function rigWith(short: Record<string, string>, replicas: number): Promise<void> {
  rig = new ScalingRig(server);
  rig.world.apply(scaledRevision({ annotations: fullKeys(short) }), replicas);
  await rig.start();
}

const states = async (): Promise<string[]> =>
  (await rig.handle.store.readTargets(SERVICE_KEY)).map((target) => target.state).toSorted();

describe("targets and pods", () => {
  test("a pod that is gone leaves routing at once, without a word from its sidecar", async () => {
    await rigWith({ "min-scale": "3" }, 3);
    await rig.podsReady();
    // A target younger than the list that is compared is left alone.
    await rig.pass(12);
    expect(await states()).toEqual(["ready", "ready", "ready"]);
    const [first, ...rest] = rig.world.podsOf();
    rig.world.pods.set(
      SERVICE_KEY,
      [first, ...rest].flatMap((pod) =>
        pod === undefined ? [] : [{ ...pod, phase: pod === first ? "terminating" : pod.phase }],
      ),
    );
    rig.world.changePods(SERVICE_KEY);
    await rig.settle();
    expect(await states()).toEqual(["ready", "ready"]);
    rig.world.pods.set(SERVICE_KEY, rest.slice(0, 1));
    rig.world.changePods(SERVICE_KEY);
    await rig.settle();
    expect(await states()).toEqual(["ready"]);
  });

  test("a target that never recovers has its pod replaced, once", async () => {
    await rigWith({ "min-scale": "2", "quarantine-max": "5s" }, 2);
    await rig.podsReady();
    const [victim] = rig.world.podsOf();
    const uid = victim?.uid ?? "";
    await rig.handle.store.reportEvidence(SERVICE_KEY, uid, "", "connect-failed");
    await rig.pass(20, () => rig.handle.store.reportProbe(SERVICE_KEY, uid, false));
    expect(rig.world.replaced).toEqual([uid]);
  });

  test("the idle ones leave before the busy ones", async () => {
    await rigWith({ cooldown: "0s", window: "6s" }, 3);
    await rig.podsReady();
    await rig.call(3);
    await rig.pass(8);
    const targets = await rig.handle.store.readTargets(SERVICE_KEY);
    expect(targets.map((target) => target.inFlight)).toEqual([1, 1, 1]);
    await rig.handle.store.releaseLease({
      revision: SERVICE_KEY,
      leaseId: "lease-5",
      outcome: "done",
      status: 200,
      serviceMs: 1,
    });
    const idle = (await rig.handle.store.readTargets(SERVICE_KEY)).find((it) => it.inFlight === 0);
    await rig.pass(10);
    expect(rig.replicas).toBe(2);
    expect(rig.world.writes.at(-1)?.leaveOrder[0]).toBe(idle?.uid);
  });
});

describe("algorithm kpa", () => {
  test("starts at the first request and is at zero a window after the last", async () => {
    await rigWith({ algorithm: "kpa", "initial-scale": "0", window: "6s" }, 0);
    await rig.pass(2);
    await rig.call(2);
    await rig.time.advance(20, () => rig.settle());
    await eventually(async () => {
      await rig.time.advance(1, () => rig.settle());
      return rig.replicas === 2;
    });
    await rig.podsReady();
    await rig.pass(10);
    expect(rig.replicas).toBe(2);
    expect(rig.autoscaler.decisions(SERVICE_KEY).at(-1)?.explanation.kpa).toMatchObject({
      stable: 2,
    });
    await rig.hangUp();
    await rig.pass(30);
    expect(rig.replicas).toBe(0);
    const active = rig.world.lastStatus()?.conditions.find((it) => it.type === "Active");
    expect(active).toMatchObject({ status: "False", reason: "NoTraffic" });
  });

  test("can be changed while requests run, and no pod moves", async () => {
    await rigWith({ cooldown: "60s" }, 4);
    await rig.podsReady();
    await rig.call(4);
    await rig.pass(40);
    rig.world.writes.length = 0;
    for (const algorithm of ["kpa", "pilot", "kpa", "pilot"]) {
      rig.world.apply(scaledRevision({ annotations: fullKeys({ cooldown: "60s", algorithm }) }));
      await rig.pass(6);
    }
    expect(rig.world.writes).toEqual([]);
  });
});

describe("what others can see", () => {
  test("decisions of the last hour with their reasons, and metrics that go with the revision", async () => {
    await rigWith({ "initial-scale": "0" }, 0);
    await rig.pass(4);
    await rig.call(2);
    await rig.pass(4);
    const raised = rig.autoscaler.decisions(SERVICE_KEY).find((record) => record.to > record.from);
    expect(raised).toMatchObject({ from: 0, to: 2, trigger: "wake" });
    expect(raised?.reason).toBe("0 running and 2 waiting need 2 pods");
    const page = renderMetrics(rig.autoscaler.view());
    const labels = 'namespace="default",revision="echo-00001"';
    expect(page).toContain(`pilotlight_autoscaler_desired_pods{${labels}} 2`);
    expect(page).toContain("pilotlight_autoscaler_starts_from_zero_total 1");
    // Two pods that have been starting since the call, in looks of two seconds.
    expect(page).toMatch(/pod_seconds_total\{[^}]+,use="warming"\} [4-8]\b/);
    rig.world.remove(SERVICE_KEY);
    await rig.settle();
    expect(renderMetrics(rig.autoscaler.view())).not.toContain("echo-00001");
  });

  test("a second pass over the same world writes nothing", async () => {
    await rigWith({ "min-scale": "1" }, 1);
    await rig.podsReady();
    await rig.pass(40);
    const before = [rig.world.writes.length, rig.world.statuses.length];
    const state = await rig.handle.store.readScalerState(SERVICE_KEY);
    // A source that hands out a new object each time, saying the same.
    rig.world.objects.get = (key) => {
      const revision = rig.world.revisions.get(key);
      return revision === undefined ? undefined : { ...revision };
    };
    await rig.pass(20);
    expect([rig.world.writes.length, rig.world.statuses.length]).toEqual(before);
    expect(await rig.handle.store.readScalerState(SERVICE_KEY)).toBe(state);
  });
});
