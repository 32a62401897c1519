/** Failures that users of comparable systems met, on the whole controller with virtual time. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ScaledRevision } from "../../../autoscaler/ports.ts";
import { ScalingRig } from "../../support/autoscaler-rig.ts";
import type { RigOptions } from "../../support/autoscaler-rig.ts";
import { SERVICE_KEY, scaledRevision } from "../../support/autoscaler-world.ts";
import { eventually } from "../../support/eventually.ts";
import { fullKeys } from "../../support/autoscaler-decisions.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
let rig: ScalingRig;

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(() => rig.stop());

function revision(
  short: Record<string, string>,
  rest: Partial<ScaledRevision> = {},
): ScaledRevision {
  return scaledRevision({ annotations: fullKeys(short), ...rest });
}

async function rigWith(
  object: ScaledRevision,
  replicas: number,
  options?: RigOptions,
): Promise<ScalingRig> {
  rig = new ScalingRig(server, options);
  rig.world.apply(object, replicas);
  await rig.start();
  return rig;
}

const condition = (type: string): { status: string; reason: string; message: string } | undefined =>
  rig.world.lastStatus()?.conditions.find((it) => it.type === type);

describe("F10 clocks differ", () => {
  test.each([-60_000, 0, 60_000])(
    "a pod is asked for at once with a clock %i ms off, and the skew is shown",
    async (skewMs) => {
      await rigWith(revision({ "initial-scale": "0" }), 0, { skewMs });
      await rig.pass(40);
      await rig.call(1);
      const calledAt = rig.time.now;
      await eventually(async () => {
        await rig.time.advance(1, () => rig.settle());
        return rig.replicas === 1;
      });
      expect(rig.time.now - calledAt).toBeLessThanOrEqual(2_000);
      const skew = rig.autoscaler.view().revisions[0]?.clockSkewMs ?? Number.NaN;
      expect(Math.abs(skew - skewMs)).toBeLessThan(50);
    },
  );
});

describe("F11 rash decision after a restart", () => {
  test("with the store emptied, nobody leaves before a whole window was seen", async () => {
    await rigWith(revision({ window: "60s", "max-scale": "0" }, { containerConcurrency: 10 }), 10);
    await rig.podsReady(10, 10);
    await rig.call(100);
    await rig.pass(70);
    expect(rig.replicas).toBe(10);
    await rig.autoscaler.stop();
    await server.admin.flushdb();
    await rig.hangUp();
    await rig.start();
    const seen: number[] = [];
    await rig.pass(58, () => void seen.push(rig.replicas));
    expect(Math.min(...seen)).toBe(10);
    // And it is a delay, not a leak.
    await rig.pass(30);
    expect(rig.replicas).toBeLessThan(10);
  });

  test("with the store intact, load and cooldown go on as if nothing had happened", async () => {
    await rigWith(revision({ cooldown: "20s" }, { containerConcurrency: 10 }), 3);
    await rig.podsReady(3, 10);
    await rig.call(30);
    await rig.pass(40);
    await rig.restart();
    await rig.pass(4);
    expect(rig.replicas).toBe(3);
    await rig.hangUp();
    await rig.pass(32);
    await rig.restart();
    // The newest want is entered once more: never shorter, and longer at most once.
    await rig.pass(8);
    expect(rig.replicas).toBeGreaterThan(0);
    await rig.pass(26);
    expect(rig.replicas).toBe(0);
  });

  test("more pods are allowed at once", async () => {
    await rigWith(revision({ window: "60s" }), 2);
    await rig.podsReady(2);
    await rig.call(6);
    await rig.pass(3);
    expect(rig.replicas).toBe(6);
  });
});

describe("F12 removed while still starting", () => {
  test("a pod that waits for a node is kept, and the condition says what it waits for", async () => {
    await rigWith(revision({ "min-scale": "0" }), 1);
    rig.world.setPods({ phase: "pending", waitingFor: "waiting for a node" });
    await rig.pass(180, (second) => expect(rig.replicas, `at ${second} s`).toBe(1));
    expect(condition("Active")).toMatchObject({
      status: "Unknown",
      reason: "Queued",
      message: "waiting for a node",
    });
    expect(condition("Ready")?.status).toBe("Unknown");
    await rig.podsReady();
    expect(condition("Ready")?.status).toBe("True");
    // The idle timer starts at readiness: the window of 30 s, then the cooldown of 10 s.
    await rig.pass(36, () => expect(rig.replicas).toBe(1));
    await rig.pass(8);
    expect(rig.replicas).toBe(0);
  });

  test("a later start from zero is kept too when its caller gives up", async () => {
    await rigWith(revision({ "initial-scale": "0" }), 0);
    await rig.pass(40);
    await rig.call(1);
    await rig.pass(1);
    await rig.hangUp();
    await rig.pass(120, () => expect(rig.replicas).toBe(1));
    await rig.podsReady();
    await rig.pass(36, () => expect(rig.replicas).toBe(1));
    await rig.pass(8);
    expect(rig.replicas).toBe(0);
  });

  test("a pod that took longer than the window is not idle the moment it is ready", async () => {
    await rigWith(revision({ "min-scale": "0", "scale-down-delay": "0s" }), 1);
    rig.world.setPods({ phase: "pending", waitingFor: "waiting for a node" });
    await rig.pass(90);
    await rig.podsReady();
    await rig.pass(28, () => expect(rig.replicas).toBe(1));
    await rig.pass(6);
    expect(rig.replicas).toBe(0);
  });

  test("but not beyond the progress deadline", async () => {
    const object = revision({});
    await rigWith(
      {
        ...object,
        annotations: { ...object.annotations, "serving.knative.dev/progress-deadline": "60s" },
      },
      1,
    );
    await rig.pass(58, () => expect(rig.replicas).toBe(1));
    await rig.pass(16);
    expect(rig.replicas).toBe(0);
    expect(condition("Active")?.status).toBe("False");
  });
});

describe("F13 superseded revision never reaches zero", () => {
  test("no lower bound holds a revision that no route references", async () => {
    const bounds = {
      window: "60s",
      "initial-scale": "2",
      "min-scale": "1",
      "scaling-buffer": "2",
      "scaling-buffer-mode": "always",
      "scale-to-zero-pod-retention-period": "30m",
      cooldown: "30m",
    };
    await rigWith(revision(bounds), 2);
    await rig.podsReady();
    await rig.pass(70);
    expect(rig.replicas).toBeGreaterThanOrEqual(2);
    rig.world.apply(revision(bounds, { reachable: false }));
    await rig.pass(90);
    expect(rig.replicas).toBe(0);
  });
});

describe("F14 traffic moves before the initial scale is there", () => {
  test("Ready only from one look that shows all of it, and later dips undo nothing", async () => {
    await rigWith(revision({ "initial-scale": "5" }), 5);
    const seen: [ready: number, initialised: string, ready: string][] = [];
    const note = (): void => {
      const ready = rig.world.lastStatus()?.actualScale ?? -1;
      const initialised = condition("ScaleTargetInitialized")?.status ?? "";
      seen.push([ready, initialised, condition("Ready")?.status ?? ""]);
    };
    await rig.pass(10, note);
    await rig.podsReady(1);
    await rig.pass(20, note);
    await rig.podsReady(4);
    await rig.pass(10, note);
    await rig.podsReady(2);
    await rig.pass(20, note);
    expect(new Set(seen.map(([, initialised, ready]) => `${initialised} ${ready}`))).toEqual(
      new Set(["Unknown Unknown"]),
    );
    expect(rig.replicas).toBe(5);
    await rig.podsReady(5);
    expect([condition("ScaleTargetInitialized")?.status, condition("Ready")?.status]).toEqual([
      "True",
      "True",
    ]);
    rig.world.setPods({ phase: "starting" });
    await rig.pass(2);
    expect(condition("ScaleTargetInitialized")?.status).toBe("True");
  });
});

describe("F27 one bad object takes everyone down", () => {
  const bad: readonly [name: string, annotations: Record<string, string>][] = [
    ["no-number", { target: "abc" }],
    ["min-above-max", { "min-scale": "3", "max-scale": "2" }],
    ["zero-window", { window: "0s" }],
    ["no-utilization", { "target-utilization-percentage": "0" }],
    ["unknown-class", { class: "other.knative.dev" }],
  ];

  test("the bad ones alone are not Ready, with a reason; the others scale", async () => {
    rig = new ScalingRig(server);
    const named = (name: string, annotations: Record<string, string>): ScaledRevision =>
      revision(
        { "initial-scale": "0", ...annotations },
        { key: `default/${name}`, revision: name, service: name },
      );
    for (const [name, annotations] of bad) rig.world.apply(named(name, annotations));
    rig.world.apply(named("broken-platform", {}));
    rig.world.apply(named("megabyte", { notes: "x".repeat(1_000_000) }));
    rig.world.broken = (call, key) => call === "listPods" && key === "default/broken-platform";
    const good = Array.from({ length: 20 }, (_, index) => `good-${index}` as const);
    for (const name of good) rig.world.apply(named(name, {}));
    await rig.start();
    for (const name of good) await rig.call(1, `default/${name}`);
    await rig.pass(3);
    for (const name of good) expect(rig.world.replicas.get(`default/${name}`), name).toBe(1);
    for (const [name] of bad) {
      const status = rig.world.lastStatus(`default/${name}`);
      expect(status?.conditions.find((it) => it.type === "Ready")).toMatchObject({
        status: "False",
        reason: "InvalidSettings",
      });
      const config = await rig.handle.store.readRevision(`default/${name}`);
      expect(config?.failure?.reason).toBe("InvalidSettings");
    }
    expect(rig.world.lastStatus("default/megabyte")).toBeDefined();
    expect(rig.autoscaler.view().failing).toBe(1);
    rig.world.broken = null;
    await rig.pass(31);
    expect(rig.autoscaler.view().failing).toBe(0);
  });

  test("an object that turns bad keeps its last good settings, also over a restart", async () => {
    await rigWith(revision({ "min-scale": "2" }), 2);
    await rig.podsReady();
    await rig.pass(2);
    rig.world.apply(revision({ "min-scale": "many" }));
    await rig.pass(40);
    expect(rig.replicas).toBe(2);
    await rig.restart();
    await rig.pass(40);
    expect(rig.replicas).toBe(2);
    expect(rig.autoscaler.view().revisions[0]?.errors).toEqual([
      "invalid value: many: autoscaling.knative.dev/min-scale",
    ]);
    expect((await rig.handle.store.readRevision(SERVICE_KEY))?.failure).toBeNull();
  });
});

describe("R10 cooldown in place", () => {
  test("64 pods with 60 s cooldown and 30 s window are at zero 94 s after the last request", async () => {
    await rigWith(revision({ cooldown: "60s", window: "30s", "max-scale": "0" }), 64);
    await rig.podsReady();
    await rig.call(64);
    await rig.pass(40);
    expect(rig.replicas).toBe(64);
    await rig.hangUp();
    let zeroAt = 0;
    const counts = new Set<number>();
    await rig.pass(94, (second) => {
      counts.add(rig.replicas);
      if (rig.replicas === 0 && zeroAt === 0) zeroAt = second;
    });
    expect(zeroAt).toBeGreaterThan(60);
    expect(zeroAt).toBeLessThanOrEqual(94);
  });
});
