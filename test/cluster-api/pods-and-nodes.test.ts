/** What pods and nodes do to a revision, on a real API server: cards, notices, slow and doomed starts. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { objectPath, splitKey } from "../../autoscaler/kubernetes/objects.ts";
import type { KubeObject } from "../../autoscaler/kubernetes/objects.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { eventually } from "../support/eventually.ts";
import { startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { Demand, startController } from "../support/kube-rig.ts";
import type { RunningController } from "../support/kube-rig.ts";
import { KubeWorld } from "../support/kube-world.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";

const SOON = { timeoutMs: 20_000, everyMs: 10 };
const KEEP = { "autoscaling.knative.dev/min-scale": "1" };

let api: KubeApi;
let store: ValkeyServer;
let world: KubeWorld;
let demand: Demand;
let controller: RunningController;

beforeAll(async () => {
  [api, store] = await Promise.all([startKubeApi(), startValkey()]);
  world = new KubeWorld(api.client);
  await world.start();
  const prefix = store.freshPrefix();
  demand = new Demand(store, prefix);
  const { url: apiUrl, accountFolder } = api;
  controller = await startController({ apiUrl, accountFolder, store, prefix });
}, 90_000);

afterEach(async () => {
  // A taint that a failure leaves would keep the pods of all later tests away.
  await patchNode({ spec: { taints: null } });
  await world.clear();
});

afterAll(async () => {
  await controller?.stop();
  await demand?.close();
  await world?.stop();
  await Promise.all([api?.stop(), store?.stop()]);
});

const patchNode = (body: object): Promise<KubeObject> =>
  api.client.write({
    method: "PATCH",
    patch: "merge-patch",
    path: `/api/v1/nodes/${world.node}`,
    body,
  });

async function readyPods(key: RevisionKey, count: number): Promise<readonly string[]> {
  return eventually(async () => {
    const pods = await controller.cluster.scale.listPods(key);
    const ready = pods.filter(({ phase }) => phase === "ready");
    return ready.length === count ? ready.map(({ uid }) => uid) : undefined;
  }, SOON);
}

describe("cards", () => {
  it("come from the labels of the node, also those that come later, and reach the store", async () => {
    const key = await world.define("card-00001", { annotations: KEEP });
    await readyPods(key, 1);
    const card = async (): Promise<string> =>
      (await demand.handle.store.readTargets(key))[0]?.card ?? "";
    await eventually(async () => (await card()) === "default", SOON);
    await patchNode({ metadata: { labels: { "nvidia.com/gpu.product": "NVIDIA-L40S" } } });
    await eventually(
      async () => (await controller.cluster.scale.listPods(key))[0]?.card === "L40S",
      SOON,
    );
    await eventually(async () => (await card()) === "L40S", { timeoutMs: 5_000 });
  }, 90_000);
});

describe("a node that is about to go", () => {
  it("has its targets drained within a second, and replacements asked for at once", async () => {
    // One that is gone at once, right after it reported, may just not be in the list yet.
    world.stopMs = 500;
    const key = await world.define("spot-00001", { annotations: KEEP });
    const [old = ""] = await readyPods(key, 1);
    await demand.push(key, old, "spot");
    const state = async (): Promise<string> =>
      (await demand.handle.store.readTargets(key)).find(({ uid }) => uid === old)?.state ?? "gone";
    await eventually(async () => (await state()) === "ready", SOON);
    const noticedAt = performance.now();
    await patchNode({
      spec: { taints: [{ key: "aws-node-termination-handler/spot-itn", effect: "NoSchedule" }] },
    });
    await eventually(async () => (await state()) !== "ready", SOON);
    expect(performance.now() - noticedAt).toBeLessThan(1_500);
    // The node takes new pods here, so those are given up as well: what counts is that one came.
    await eventually(() => world.pods(key).some(({ metadata }) => metadata.uid !== old), SOON);
    await patchNode({ spec: { taints: null } });
    const [next] = await readyPods(key, 1);
    expect(next).not.toBe(old);
  }, 60_000);
});

describe("starts", () => {
  it("hold a revision up that waits for a node, with no traffic at all (F12)", async () => {
    const key = await world.define("waits-00001", { start: "unscheduled" });
    const seen = new Set<number>();
    const from = performance.now();
    // Longer than window and cooldown together, after which an idle revision would go.
    await eventually(
      async () => {
        seen.add(await world.replicas(key));
        return performance.now() - from > 12_000;
      },
      { timeoutMs: 14_000, everyMs: 100 },
    );
    expect([...seen]).toEqual([1]);
  }, 60_000);

  it("do not keep a revision that no route leads to any more (F13)", async () => {
    const bounds = {
      "autoscaling.knative.dev/initial-scale": "2",
      "autoscaling.knative.dev/min-scale": "1",
    };
    const key = await world.define("superseded-00001", { annotations: bounds, replicas: 2 });
    await readyPods(key, 2);
    await api.client.write({
      method: "PATCH",
      patch: "merge-patch",
      path: objectPath("podautoscalers", splitKey(key)),
      body: { spec: { reachability: "Unreachable" } },
    });
    await eventually(async () => (await world.replicas(key)) === 0, { timeoutMs: 30_000 });
  }, 60_000);

  it("count as done only from one look that shows all of them (F14)", async () => {
    let pod = 0;
    world.startMsOf = () => {
      pod += 1;
      return pod === 1 ? 50 : 3_000;
    };
    const bounds = {
      "autoscaling.knative.dev/initial-scale": "5",
      "autoscaling.knative.dev/min-scale": "5",
    };
    const pairs: string[] = [];
    const key = await world.define("rollout-00001", { annotations: bounds, replicas: 5 });
    await eventually(async () => {
      const { actualScale = 0, conditions = [] } = (await world.readScaler(key)).status ?? {};
      const ready = conditions.find(({ type }) => type === "Ready")?.status ?? "none";
      const initialised = conditions.find(({ type }) => type === "ScaleTargetInitialized")?.status;
      pairs.push(`${actualScale} ${ready} ${initialised ?? "none"}`);
      return ready === "True";
    }, SOON);
    const early = pairs.filter((pair) => !pair.startsWith("5 "));
    expect(early.some((pair) => pair.startsWith("1 "))).toBe(true);
    expect(early.filter((pair) => pair.includes("True"))).toEqual([]);
    world.startMsOf = null;
    // A later dip does not undo it.
    const [one] = world.pods(key);
    if (one !== undefined) await world.deletePod(one);
    await readyPods(key, 5);
    const { conditions = [] } = (await world.readScaler(key)).status ?? {};
    expect(conditions.find(({ type }) => type === "ScaleTargetInitialized")?.status).toBe("True");
  }, 60_000);
});
