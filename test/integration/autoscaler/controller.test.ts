/** The controller over a real store: waking, configuring, keeping, forgetting. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAutoscaler } from "../../../autoscaler/controller.ts";
import type { Autoscaler } from "../../../autoscaler/controller.ts";
import { PLATFORM_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import { createRandom } from "../../../common/random.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { SERVICE_KEY, World, scaledRevision } from "../../support/autoscaler-world.ts";
import { eventually } from "../../support/eventually.ts";
import { acquireRequest, pushReport } from "../../support/routing.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const ALLOW_ZERO = { ...PLATFORM_DEFAULTS, allowZeroInitialScale: true };
const AT_ZERO = { "autoscaling.knative.dev/initial-scale": "0" };
const logger = createLogger({ name: "test", level: "silent" });

let server: ValkeyServer;
let handle: StoreHandle;
let world: World;
let autoscaler: Autoscaler;

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

beforeEach(async () => {
  handle = createStore({ url: server.url, prefix: server.freshPrefix(), activatorId: "act-1" });
  world = new World();
  autoscaler = newAutoscaler();
  await handle.ready();
});
afterEach(async () => {
  await autoscaler.stop();
  await handle.close();
});

function newAutoscaler(): Autoscaler {
  return createAutoscaler({
    store: handle.store,
    subscriber: handle.subscriber,
    objects: world.objects,
    scale: world.scale,
    status: world.status,
    clock: systemClock,
    random: createRandom(1),
    logger,
    defaults: ALLOW_ZERO,
  });
}

const configured = (): Promise<unknown> =>
  eventually(() => handle.store.readRevision(SERVICE_KEY), { what: "a configuration" });

/** All pods of the world push that they are ready. */
async function pushReady(): Promise<void> {
  for (const pod of world.podsOf()) {
    await handle.store.reportReadiness(pushReport(pod.uid, { boot: 1 }), {
      card: "default",
      marks: {},
    });
  }
  world.setPods({ phase: "ready" });
}

describe("from zero", () => {
  test("three waiting requests are one write of three pods, within 50 ms", async () => {
    world.apply(scaledRevision({ annotations: AT_ZERO }));
    await autoscaler.start();
    await configured();
    await eventually(() => world.lastStatus() !== undefined);
    const startedAt = performance.now();
    await Promise.all(
      ["r1", "r2", "r3"].map((id) => handle.store.acquireLease(acquireRequest(id))),
    );
    await eventually(() => world.writes.length > 0);
    expect(world.writes.map((write) => write.replicas)).toEqual([3]);
    expect((world.writtenAt[0] ?? 0) - startedAt).toBeLessThan(50);
    expect(world.writes[0]?.reason).toContain("3 waiting need 3");
    expect(autoscaler.decisions(SERVICE_KEY).at(-1)?.explanation.aged).toBe(3);
  });

  test("a revision that is never called stays at zero and says so", async () => {
    world.apply(scaledRevision({ annotations: AT_ZERO }));
    await autoscaler.start();
    const status = await eventually(() => world.lastStatus());
    expect(status?.desiredScale).toBe(0);
    expect(status?.conditions.map(({ type, status: is, reason }) => [type, is, reason])).toEqual([
      ["Active", "False", "NoTraffic"],
      ["Ready", "False", "NoTraffic"],
      ["SKSReady", "True", ""],
      ["ScaleTargetInitialized", "True", ""],
    ]);
    expect(world.writes).toEqual([]);
  });
});

describe("with pods there", () => {
  test("a request that waits longer than scale-up-delay brings a pod before the next tick", async () => {
    world.apply(
      scaledRevision({ annotations: { ...AT_ZERO, "pilotlight.dev/scale-up-delay": "200ms" } }),
    );
    await autoscaler.start();
    await configured();
    await handle.store.acquireLease(acquireRequest("r1"));
    await eventually(() => world.podsOf().length === 1);
    await pushReady();
    await eventually(() => world.lastStatus()?.actualScale === 1);
    const startedAt = performance.now();
    await handle.store.acquireLease(acquireRequest("r2"));
    await eventually(() => world.podsOf().length === 2);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(190);
    expect(tookMs).toBeLessThan(600);
  });

  test("its targets are known to the store as starting before they push", async () => {
    world.apply(scaledRevision(), 2);
    await autoscaler.start();
    const targets = await eventually(async () => {
      const found = await handle.store.readTargets(SERVICE_KEY);
      return found.length === 2 ? found : undefined;
    });
    expect(targets?.map((target) => target.state)).toEqual(["starting", "starting"]);
  });
});

describe("the configuration in the store", () => {
  test("is written again when the store lost it", async () => {
    world.apply(scaledRevision({ annotations: AT_ZERO }));
    await autoscaler.start();
    await configured();
    await eventually(() => world.lastStatus() !== undefined);
    await server.admin.flushall();
    await eventually(() => handle.store.readRevision(SERVICE_KEY), {
      timeoutMs: 9_000,
      what: "the configuration comes back with a resync",
    });
  });

  test("follows a live change, and goes with its object", async () => {
    world.apply(scaledRevision({ annotations: AT_ZERO }));
    await autoscaler.start();
    await configured();
    world.apply(
      scaledRevision({
        annotations: { ...AT_ZERO, "pilotlight.dev/load-balancing": "round-robin" },
      }),
    );
    await eventually(
      async () => (await handle.store.readRevision(SERVICE_KEY))?.policy === "round-robin",
    );
    world.remove(SERVICE_KEY);
    await eventually(async () => (await handle.store.readRevision(SERVICE_KEY)) === null);
    expect(autoscaler.view().revisions).toEqual([]);
  });

  test("names the failure of a start that can never succeed", async () => {
    world.apply(scaledRevision(), 1);
    await autoscaler.start();
    await configured();
    const failure = { reason: "CrashLoopBackOff", message: "exit code 1", count: 3 };
    world.setPods({ failure });
    const config = await eventually(async () => {
      const read = await handle.store.readRevision(SERVICE_KEY);
      return read?.failure === null ? undefined : read;
    });
    expect(config?.failure).toEqual({ reason: "CrashLoopBackOff", message: "exit code 1" });
  });
});

describe("a restart", () => {
  test("keeps what the scaler knew: initialised, cooldown, conditions", async () => {
    world.apply(scaledRevision(), 1);
    await autoscaler.start();
    await configured();
    await pushReady();
    await eventually(() =>
      world.lastStatus()?.conditions.some((it) => it.type === "Ready" && it.status === "True"),
    );
    const before = world.lastStatus();
    await eventually(async () =>
      (await handle.store.readScalerState(SERVICE_KEY))?.includes('"initialised":true'),
    );
    await autoscaler.stop();
    autoscaler = newAutoscaler();
    world.statuses.length = 0;
    await autoscaler.start();
    await eventually(() => world.statuses.length > 0);
    expect(world.lastStatus()).toEqual(before);
    expect(world.writes).toEqual([]);
  });
});
