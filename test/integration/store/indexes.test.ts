/** Only one index is kept: a change of policy puts all targets in another order, in bounded steps. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { configureRevision } from "../../../store/bindings/revisions.ts";
import { createKeys } from "../../../store/keys.ts";
import { loadScripts } from "../../../store/load-scripts.ts";
import { dumpRouting } from "../../support/routing-dump.ts";
import { findFaults } from "../../support/routing-invariants.ts";
import { REVISION, acquireRequest, revisionConfig } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const TARGETS = 200;
let server: ValkeyServer;
let rig: StoreRig;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(() => rig.close());

async function startRig(): Promise<void> {
  rig = await new StoreRig(server).start();
  for (let pod = 0; pod < TARGETS; pod += 1) await rig.report(`p${pod}`, { capacity: 2 });
}

const faults = async (): Promise<string[]> =>
  findFaults(await dumpRouting(server.admin, rig.prefix, REVISION));

/** One call of the script, as the store makes until no more is left. */
async function configureOnce(policy: "first-available" | "min-connections"): Promise<unknown> {
  const keys = createKeys(rig.prefix);
  const names = keys.list(REVISION, configureRevision.keys);
  const context = { keys, now: String(rig.nowUs) };
  const args = configureRevision.encode(revisionConfig({ policy }), context);
  const name = loadScripts().functionName(configureRevision.script);
  return server.admin.fcall(name, names.length, ...names, ...args);
}

describe("order of the targets", () => {
  test("follows the policy both ways, at any number of targets", async () => {
    await startRig();
    for (let lease = 0; lease < 100; lease += 1) await rig.choose();
    await rig.store.configureRevision(revisionConfig({ policy: "min-connections" }));
    expect(await faults()).toEqual([]);
    expect(await rig.choose()).toBe("p50");
    await rig.store.configureRevision(revisionConfig({ policy: "round-robin" }));
    expect(await faults()).toEqual([]);
    expect(await rig.choose()).toBe("p50");
    expect(await rig.choose()).toBe("p51");
  });

  test("is that of the old policy until all are in the new one, and loses no change meanwhile", async () => {
    await startRig();
    expect(await configureOnce("min-connections")).toEqual(["changed", 1]);
    // The first two are full and leave, one that stood there comes back, a late one is drained.
    for (const uid of ["p0", "p0", "p1", "p1"]) expect(await rig.choose()).toBe(uid);
    await rig.release("r1");
    await rig.store.drainTarget(REVISION, "p199", "test");
    expect(await configureOnce("min-connections")).toEqual(["same", 1]);
    expect(await configureOnce("min-connections")).toEqual(["same", 1]);
    expect(await configureOnce("min-connections")).toEqual(["same", 0]);
    expect(await faults()).toEqual([]);
    expect(await rig.choose()).toBe("p2");
  });

  test("stays as it is when the change is taken back half-way", async () => {
    await startRig();
    await configureOnce("min-connections");
    await rig.choose();
    expect(await configureOnce("first-available")).toEqual(["changed", 0]);
    expect(await faults()).toEqual([]);
    expect(await rig.choose()).toBe("p0");
  });
});

describe("requests of a dead activator", () => {
  test("are found among those of others, page by page, also after it came back once", async () => {
    rig = await new StoreRig(server).start();
    await rig.report("a", { capacity: 0 });
    // Long enough that the server keeps the requests in a table, which it lists page by page.
    const [dying, living] = ["dying", "living"].map((name) => name.padEnd(60, "-"));
    const take = async (activatorId = "", from = 0): Promise<void> => {
      for (let lease = from; lease < from + 150; lease += 1) {
        await rig.store.acquireLease(acquireRequest(`${activatorId}-${lease}`, { activatorId }));
      }
    };
    await take(dying, 0);
    await take(living, 0);
    const lapsed = async (): Promise<number> =>
      [...(await dumpRouting(server.admin, rig.prefix, REVISION)).requests.values()].filter(
        (request) => request.kind === "lease" && request.lapsed,
      ).length;
    // A page or two, then it is back with more.
    for (let step = 0; step < 7; step += 1) await rig.liveMs(500, living);
    expect(await lapsed()).toBeGreaterThan(0);
    expect(await lapsed()).toBeLessThan(150);
    await take(dying, 150);
    for (let step = 0; step < 30; step += 1) await rig.liveMs(500, living);
    expect(await lapsed()).toBe(300);
    expect(await faults()).toEqual([]);
  });
});
