/**
 * What goes wrong around the controller: the API server away, a leader killed in mid-write, objects
 * that make no sense, many revisions. Times of minutes are divided by ten.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { STOCK_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import { collectionPath, objectPath } from "../../autoscaler/kubernetes/objects.ts";
import type { PodAutoscaler } from "../../autoscaler/kubernetes/objects.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { eventually } from "../support/eventually.ts";
import { create, remove, startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { startRelay } from "../support/kube-relay.ts";
import type { Relay } from "../support/kube-relay.ts";
import { Demand, QUICK, startController } from "../support/kube-rig.ts";
import type { ControllerOptions, RunningController } from "../support/kube-rig.ts";
import { KubeWorld } from "../support/kube-world.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";

const SOON = { timeoutMs: 20_000, everyMs: 20 };
const KEEP = { "autoscaling.knative.dev/min-scale": "1" };

let api: KubeApi;
let store: ValkeyServer;
let world: KubeWorld;
let demand: Demand;
let relay: Relay;
let prefix = "";
const running: RunningController[] = [];

beforeAll(async () => {
  [api, store] = await Promise.all([startKubeApi(), startValkey()]);
  relay = await startRelay(api.port);
  world = new KubeWorld(api.client);
  await world.start();
}, 90_000);

afterEach(async () => {
  relay.thaw();
  relay.cut();
  await Promise.all(running.splice(0).map((controller) => controller.stop()));
  await demand?.close();
  await world.clear();
}, 60_000);

afterAll(async () => {
  await world?.stop();
  await relay?.close();
  await Promise.all([api?.stop(), store?.stop()]);
});

/** Another store each time; a second controller of a test stands by for the first. */
async function startFirst(options: Partial<ControllerOptions> = {}): Promise<RunningController> {
  prefix = store.freshPrefix();
  demand = new Demand(store, prefix);
  return start(options);
}

async function start(options: Partial<ControllerOptions> = {}): Promise<RunningController> {
  const controller = await startController({
    apiUrl: api.url,
    accountFolder: api.accountFolder,
    store,
    prefix,
    ...options,
  });
  running.push(controller);
  return controller;
}

async function words(key: RevisionKey): Promise<readonly string[]> {
  const { conditions = [] } = (await world.readScaler(key)).status ?? {};
  return conditions.map(({ type, status, reason = "" }) => `${type} ${status} ${reason}`.trim());
}

const isActive = (key: RevisionKey): Promise<unknown> =>
  eventually(async () => (await words(key)).includes("Active True"), SOON);

const scales = ({ writes }: RunningController): readonly string[] =>
  writes
    .filter(({ path }) => path.endsWith("/scale"))
    .map(({ path, body }) => `${path} ${JSON.stringify(body)}`);

/** So many scales and no more: the server shows one before its writer has the answer. */
async function answered(controller: RunningController, count: number): Promise<void> {
  await eventually(() => scales(controller).length >= count, SOON);
  expect(scales(controller)).toHaveLength(count);
}

describe("the API server", () => {
  it("goes for a while: nothing is scaled wrongly, and all goes on when it is back", async () => {
    const key = await world.define("away-00001", { annotations: KEEP });
    const controller = await startFirst();
    await isActive(key);
    const before = scales(controller).length;
    await api.killServer();
    // Routing needs no API server: the store is told nothing else meanwhile.
    const config = await demand.handle.store.readRevision(key);
    await demand.ask(key);
    await demand.ask(key);
    await eventually(() => controller.cluster.stats().every(({ failures }) => failures > 1), SOON);
    expect(await demand.handle.store.readRevision(key)).toEqual(config);
    expect(scales(controller).length).toBe(before);
    await api.startServer();
    const backAt = performance.now();
    await eventually(async () => (await world.replicas(key)) === 2, SOON);
    expect(performance.now() - backAt).toBeLessThan(15_000);
    await answered(controller, before + 1);
    await demand.leave();
  }, 90_000);

  it("is silent: nothing is decided on copies that nobody confirms", async () => {
    const key = await world.define("silent-00001", { annotations: KEEP });
    const watchTimes = { watchMs: 3_000, slackMs: 500 };
    const controller = await startFirst({ apiUrl: `https://127.0.0.1:${relay.port}`, watchTimes });
    await isActive(key);
    expect(controller.cluster.unready()).toBe("");
    relay.freeze();
    await expect(controller.cluster.scale.listPods(key)).resolves.toHaveLength(1);
    await eventually(() => controller.cluster.unready().includes("pods were last confirmed"), {
      timeoutMs: 80_000,
      everyMs: 100,
    });
    await expect(controller.cluster.scale.listPods(key)).rejects.toThrow("nothing is scaled");
    relay.thaw();
    relay.cut();
    await eventually(() => controller.cluster.unready() === "", SOON);
    await expect(controller.cluster.scale.listPods(key)).resolves.toHaveLength(1);
  }, 120_000);
});

describe("leaders", () => {
  it("hand over when one is killed in mid-write, and the next writes nothing that is there", async () => {
    const key = await world.define("killed-00001", { annotations: KEEP });
    const first = await startFirst();
    await isActive(key);
    const second = await start();
    expect(second.elected.leads(key)).toBe(false);
    // The write reaches the server; who sent it never learns.
    await demand.ask(key);
    await demand.ask(key);
    await eventually(async () => (await world.replicas(key)) === 2, SOON);
    running.splice(running.indexOf(first), 1);
    await first.kill();
    await eventually(() => second.elected.leads(key), SOON);
    await demand.ask(key);
    await eventually(async () => (await world.replicas(key)) === 3, SOON);
    await answered(second, 1);
    await demand.leave();
  }, 60_000);

  it("put right what one left half done", async () => {
    const key = await world.define("half-00001", { replicas: 1 });
    let fails = true;
    const first = await startFirst({
      beforeWrite: ({ path }) => {
        // Dies between the making of the network and the first status.
        if (fails && path.endsWith("/status")) throw new Error("killed");
      },
    });
    await eventually(
      () => first.writes.some(({ path }) => path.endsWith("serverlessservices")),
      SOON,
    );
    running.splice(running.indexOf(first), 1);
    await first.kill();
    expect((await world.readScaler(key)).status?.conditions).toBeUndefined();
    fails = false;
    const second = await start();
    await isActive(key);
    expect(second.writes.some(({ path }) => path.endsWith("/serverlessservices"))).toBe(false);
  }, 60_000);
});

describe("objects that make no sense (F27)", () => {
  const BAD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    "no-number": { "autoscaling.knative.dev/target": "abc" },
    "min-above-max": {
      "autoscaling.knative.dev/min-scale": "5",
      "autoscaling.knative.dev/max-scale": "2",
    },
    "window-zero": { "autoscaling.knative.dev/window": "0s" },
    "no-utilisation": { "autoscaling.knative.dev/target-utilization-percentage": "0" },
    "a-megabyte": { "example.dev/notes": "x".repeat(200_000) },
  };

  it("are alone in their failure, and their fields are named", async () => {
    const good = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        world.define(`good-0000${index}`, { annotations: KEEP }),
      ),
    );
    const bad = await Promise.all(
      Object.entries(BAD).map(([name, annotations]) =>
        world.define(`${name}-00001`, { annotations }),
      ),
    );
    await world.define("no-target-00001", { annotations: KEEP });
    await remove(
      api.client,
      objectPath("deployments", { namespace: "default", name: "no-target-00001-deployment" }),
    );
    const controller = await startFirst();
    await Promise.all(good.map(isActive));
    for (const [index, name] of Object.keys(BAD).entries()) {
      const key = bad[index];
      if (key === undefined || name === "a-megabyte") continue;
      const [field = ""] = Object.keys(BAD[name] ?? {}).slice(-1);
      const active = await eventually(async () => {
        const { conditions = [] } = (await world.readScaler(key)).status ?? {};
        return conditions.find(({ reason }) => reason === "InvalidSettings");
      }, SOON);
      expect(active.message).toContain(field);
    }
    expect(controller.cluster.unready()).toBe("");
  }, 60_000);

  it("in a ConfigMap leave the last good one in force", async () => {
    const path = collectionPath("configmaps", "knative-serving");
    const map = (data: Record<string, string>): object => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "config-autoscaler", namespace: "knative-serving" },
      data,
    });
    await create(api.client, path, map({ "max-scale": "3" }) as { metadata: { name: string } });
    const controller = await startFirst({ base: STOCK_DEFAULTS });
    const { defaults } = controller.cluster;
    await eventually(() => defaults.current.maxScale === 3, SOON);
    const patch = (data: Record<string, string>): Promise<unknown> =>
      api.client.write({
        method: "PATCH",
        patch: "merge-patch",
        path: `${path}/config-autoscaler`,
        body: { data },
      });
    await patch({ "max-scale": "many" });
    await eventually(() => defaults.faults.length > 0, SOON);
    expect(defaults.current.maxScale).toBe(3);
    expect(defaults.faults.join()).toContain("many");
    expect(controller.log.join()).toContain("configuration refused");
    await patch({ "max-scale": "4" });
    await eventually(() => defaults.current.maxScale === 4, SOON);
    expect(defaults.faults).toEqual([]);
    await remove(api.client, `${path}/config-autoscaler`);
  });
});

describe("many revisions", () => {
  it("a thousand at zero cost next to nothing, and one of them starts as fast as ever", async () => {
    const COUNT = 1_000;
    const keys: RevisionKey[] = [];
    for (let from = 0; from < COUNT; from += 50) {
      const some = Array.from({ length: 50 }, (_, index) =>
        world.define(`many-${String(from + index).padStart(5, "0")}`, { replicas: 0 }),
      );
      keys.push(...(await Promise.all(some)));
    }
    const controller = await startFirst({
      base: { ...QUICK, initialScale: 0 },
    });
    const list = async (): Promise<readonly PodAutoscaler[]> => {
      const page = await api.client.read<{ items: PodAutoscaler[] }>(
        collectionPath("podautoscalers"),
      );
      return page.items.filter(({ metadata }) => metadata.name.startsWith("many-"));
    };
    await eventually(
      async () => (await list()).every(({ status }) => (status?.conditions ?? []).length === 4),
      { timeoutMs: 150_000, everyMs: 1_000 },
    );
    await eventually(
      () => [...controller.elected.led().values()].every((it) => it.busy() === 0),
      SOON,
    );
    const cpu = process.cpuUsage();
    const from = performance.now();
    await eventually(() => performance.now() - from > 10_000, { timeoutMs: 12_000, everyMs: 500 });
    const used = process.cpuUsage(cpu);
    const share = (used.user + used.system) / 1_000 / (performance.now() - from);
    const key = keys[500] ?? "default/none";
    const askedAt = performance.now();
    await demand.ask(key);
    await eventually(async () => (await world.replicas(key)) === 1, { ...SOON, everyMs: 5 });
    const startMs = performance.now() - askedAt;
    expect(share).toBeLessThan(0.5);
    expect(startMs).toBeLessThan(1_000);
    const objects = await list();
    expect(new Set(objects.map(({ metadata }) => metadata.uid)).size).toBe(COUNT);
    await demand.leave();
  }, 300_000);
});
