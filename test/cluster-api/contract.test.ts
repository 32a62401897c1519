/** The adapters of a cluster under the suites that every adapter must pass. */
import { afterAll, beforeAll } from "vitest";
import type { Condition, ScalerStatus } from "../../autoscaler/ports.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { testStatusSink } from "../contract/object-source.ts";
import { testScaleTarget } from "../contract/scale-target.ts";
import { eventually } from "../support/eventually.ts";
import { startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { startController } from "../support/kube-rig.ts";
import type { RunningController } from "../support/kube-rig.ts";
import { KubeWorld } from "../support/kube-world.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";

let api: KubeApi;
let store: ValkeyServer;
let world: KubeWorld;
let round = 0;

beforeAll(async () => {
  [api, store] = await Promise.all([startKubeApi(), startValkey()]);
  world = new KubeWorld(api.client);
  world.startMs = 100;
  await world.start();
}, 90_000);

afterAll(async () => {
  await world?.stop();
  await Promise.all([api?.stop(), store?.stop()]);
});

/** The adapters without a leader: nothing decides beside the suite. */
async function openAdapters(): Promise<RunningController> {
  const { url: apiUrl, accountFolder } = api;
  const prefix = store.freshPrefix();
  const controller = await startController({ apiUrl, accountFolder, store, prefix });
  await controller.elected.stop();
  return controller;
}

testScaleTarget("Deployments", async () => {
  round += 1;
  const controller = await openAdapters();
  const keys: RevisionKey[] = [];
  const define = async (name: string, start: "ready" | "crash"): Promise<RevisionKey> => {
    const key = await world.define(`${name}-${String(round).padStart(5, "0")}`, {
      replicas: 0,
      start,
    });
    keys.push(key);
    await eventually(() => controller.cluster.objects.get(key));
    return key;
  };
  return {
    target: controller.cluster.scale,
    define: (name) => define(name, "ready"),
    defineFailing: (name) => define(name, "crash"),
    [Symbol.asyncDispose]: async () => {
      for (const key of keys) await world.remove(key);
      await controller.stop();
    },
  };
});

testStatusSink("PodAutoscalers", async () => {
  const controller = await openAdapters();
  const keys = [
    await world.define("sink-00001", { replicas: 0 }),
    await world.define("sink-00002", { replicas: 0 }),
  ] as const;
  await eventually(() => keys.every((key) => controller.cluster.objects.get(key)));
  return {
    sink: controller.cluster.status,
    keys,
    read: async (key) => {
      const { status } = await world.readScaler(key);
      const { desiredScale, actualScale, conditions = [] } = status ?? {};
      if (desiredScale === undefined || actualScale === undefined) return undefined;
      const read: ScalerStatus = {
        desiredScale,
        actualScale,
        conditions: conditions.map((condition): Condition => ({
          // Written by the sink alone.
          type: condition.type as Condition["type"],
          status: condition.status,
          reason: condition.reason ?? "",
          message: condition.message ?? "",
          changedAt: Date.parse(condition.lastTransitionTime ?? ""),
        })),
      };
      return read;
    },
    [Symbol.asyncDispose]: async () => {
      for (const key of keys) await world.remove(key);
      await controller.stop();
    },
  };
});
