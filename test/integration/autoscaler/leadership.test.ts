/** Several autoscalers on one store: one leader per shard, a next one when it goes, nothing rash. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createElectedAutoscaler, shardOf } from "../../../autoscaler/elected.ts";
import type { ElectedAutoscaler } from "../../../autoscaler/elected.ts";
import { createLeadership } from "../../../autoscaler/leadership.ts";
import { systemTimers } from "../../../autoscaler/timers.ts";
import { PLATFORM_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import { createRandom } from "../../../common/random.ts";
import type { RevisionKey } from "../../../common/contracts/routing.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { scaledRevision, World } from "../../support/autoscaler-world.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const TTL_MS = 800;
const SHARDS = 4;
const SOON = { timeoutMs: 15_000 };
const logger = createLogger({ name: "test", level: "silent" });

let server: ValkeyServer;
let handle: StoreHandle;
const running: ElectedAutoscaler[] = [];

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
beforeEach(async () => {
  handle = createStore({ url: server.url, prefix: server.freshPrefix() });
  await handle.ready();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((autoscaler) => autoscaler.stop()));
  await handle.close();
});

describe("a lease", () => {
  test("has one holder, and a number that grows with each", async () => {
    const { leases } = handle;
    const claims = await Promise.all(
      ["a", "b", "c"].map((id) => leases.claimLease("x", id, 60_000)),
    );
    const winners = claims.flatMap((epoch, index) =>
      epoch === null ? [] : [{ holder: ["a", "b", "c"][index] ?? "", epoch }],
    );
    expect(winners.length).toBeLessThanOrEqual(1);
    const epoch = winners[0]?.epoch ?? (await leases.claimLease("x", "a", 60_000));
    const lease = { holder: winners[0]?.holder ?? "a", epoch: epoch ?? 0 };
    expect(await leases.renewLease("x", lease, 60_000)).toBe(true);
    expect(await leases.renewLease("x", { ...lease, epoch: lease.epoch - 1 }, 60_000)).toBe(false);
    await leases.dropLease("x", { ...lease, holder: "other" });
    expect(await leases.claimLease("x", "d", 60_000)).toBeNull();
    await leases.dropLease("x", lease);
    expect(await leases.claimLease("x", "d", 60_000)).toBeGreaterThan(lease.epoch);
  });

  test("that is not renewed stops its holder before the next one may begin", async () => {
    let now = 0;
    const lost: string[] = [];
    const leadership = createLeadership({
      leases: { ...handle.leases, renewLease: () => Promise.reject(new Error("cut off")) },
      name: "y",
      holder: "cut-off",
      clock: { now: () => now },
      timers: systemTimers,
      logger,
      ttlMs: TTL_MS,
      onGain: () => Promise.resolve(),
      onLoss: () => Promise.resolve(void lost.push("lost")),
    });
    leadership.start();
    await eventually(() => leadership.isLeading(), SOON);
    expect(await handle.leases.claimLease("y", "next", TTL_MS)).toBeNull();
    now = TTL_MS * 0.75;
    expect(leadership.isLeading()).toBe(false);
    await eventually(() => lost.length === 1, SOON);
    await leadership.stop();
  });
});

function worldOf(count: number): World {
  const world = new World();
  for (let index = 0; index < count; index += 1) {
    const revision = `r-${index}`;
    const key: RevisionKey = `default/${revision}`;
    const annotations = { "autoscaling.knative.dev/min-scale": "2" };
    world.apply(scaledRevision({ key, revision, service: revision, annotations }));
  }
  return world;
}

function start(world: World, holder: string): ElectedAutoscaler {
  const autoscaler = createElectedAutoscaler({
    leases: handle.leases,
    holder,
    shards: SHARDS,
    ttlMs: TTL_MS,
    store: handle.store,
    subscriber: handle.subscriber,
    objects: world.objects,
    scale: world.scale,
    status: world.status,
    clock: systemClock,
    random: createRandom(1),
    logger,
    defaults: PLATFORM_DEFAULTS,
  });
  running.push(autoscaler);
  autoscaler.start();
  return autoscaler;
}

describe("several autoscalers", () => {
  test("lead each shard once, decide every revision, and take over what another gives up", async () => {
    const world = worldOf(12);
    const first = start(world, "first");
    await eventually(() => first.led().size === SHARDS, SOON);
    await eventually(() => world.writes.length === 12, SOON);
    const second = start(world, "second");
    await eventually(async () => (await handle.store.listRevisions()).length === 12, SOON);
    expect(second.led().size).toBe(0);

    await first.stop();
    await eventually(() => second.led().size === SHARDS, SOON);
    expect(first.led().size).toBe(0);
    const decided = (): number =>
      [...second.led().values()].flatMap((led) => led.view().revisions).length;
    await eventually(() => decided() === 12, SOON);
    // The next leader found everything as it should be: it wrote nothing, and removed nothing.
    expect(world.writes).toHaveLength(12);
    expect(await handle.store.listRevisions()).toHaveLength(12);
  });

  test("decide a revision in its shard only", async () => {
    const world = worldOf(12);
    const one = start(world, "one");
    await eventually(() => world.writes.length === 12, SOON);
    for (const [shard, led] of one.led()) {
      const keys = led.view().revisions.map(({ key }) => key);
      expect(keys.filter((key) => shardOf(key, SHARDS) !== shard)).toEqual([]);
    }
  });
});

test("keys spread evenly over shards, the same everywhere", () => {
  const counts = Array.from({ length: SHARDS }, () => 0);
  for (let index = 0; index < 4_000; index += 1) {
    const shard = shardOf(`team-${index % 7}/model-${index}`, SHARDS);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(850);
  expect(shardOf("default/echo-00001", 1)).toBe(0);
});
