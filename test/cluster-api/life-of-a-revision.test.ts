/** A PodAutoscaler from its creation to zero and back, on a real API server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  PodAutoscalerStatus,
  ServerlessService,
} from "../../autoscaler/kubernetes/objects.ts";
import { objectPath, splitKey } from "../../autoscaler/kubernetes/objects.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { eventually } from "../support/eventually.ts";
import { setStatus, startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { Demand, startController } from "../support/kube-rig.ts";
import type { RunningController } from "../support/kube-rig.ts";
import { KubeWorld } from "../support/kube-world.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";

const SOON = { timeoutMs: 15_000, everyMs: 20 };

let api: KubeApi;
let store: ValkeyServer;
let world: KubeWorld;
let demand: Demand;
let controller: RunningController;
let prefix = "";

beforeAll(async () => {
  [api, store] = await Promise.all([startKubeApi(), startValkey()]);
  world = new KubeWorld(api.client);
  await world.start();
  prefix = store.freshPrefix();
  demand = new Demand(store, prefix);
  controller = await startController({
    apiUrl: api.url,
    accountFolder: api.accountFolder,
    store,
    prefix,
  });
}, 90_000);

afterAll(async () => {
  await controller?.stop();
  await demand?.close();
  await world?.stop();
  await Promise.all([api?.stop(), store?.stop()]);
});

async function status(key: RevisionKey): Promise<PodAutoscalerStatus> {
  return (await world.readScaler(key)).status ?? {};
}

async function words(key: RevisionKey): Promise<readonly string[]> {
  const { conditions = [] } = await status(key);
  return conditions.map(({ type, status: value, reason = "" }) =>
    `${type} ${value} ${reason}`.trim(),
  );
}

function readNetwork(key: RevisionKey): Promise<ServerlessService> {
  return api.client.read(objectPath("serverlessservices", splitKey(key)));
}

const becomes = (key: RevisionKey, expected: readonly string[]): Promise<unknown> =>
  eventually(async () => {
    expect(await words(key)).toEqual(expected);
    return true;
  }, SOON);

/** Waits until the controller has decided that often about a revision by its tick. */
async function decisions(key: RevisionKey, count: number): Promise<void> {
  let seen = 0;
  const ends = [...controller.elected.led().values()].map((autoscaler) =>
    autoscaler.onDecision((record) => {
      if (record.key === key && record.trigger === "tick") seen += 1;
    }),
  );
  await eventually(() => seen >= count, SOON);
  for (const end of ends) end();
}

const ACTIVE = ["Active True", "Ready True", "SKSReady True", "ScaleTargetInitialized True"];

describe("life of a revision", () => {
  it("begins with a status that is complete, in the order of types", async () => {
    world.startMs = 6_000;
    const key = await world.define("begin-00001");
    const first = await eventually(async () => {
      const found = await status(key);
      return (found.conditions ?? []).length === 4 ? found : undefined;
    }, SOON);
    const said = (first.conditions ?? []).map(({ type, status: value }) => `${type} ${value}`);
    expect(said).toEqual([
      "Active Unknown",
      "Ready Unknown",
      "SKSReady Unknown",
      "ScaleTargetInitialized Unknown",
    ]);
    expect(first.conditions?.[0]).toMatchObject({ reason: "Queued" });
    expect(first.conditions?.[2]).toMatchObject({ reason: "NotReady" });
    expect(first).toMatchObject({ observedGeneration: 1, actualScale: 0 });
    for (const condition of first.conditions ?? []) {
      expect(condition.lastTransitionTime).toMatch(/^\d{4}-.*:\d\dZ$/);
    }
    await becomes(key, ACTIVE);
    expect(await status(key)).toMatchObject({
      serviceName: "begin-00001",
      metricsServiceName: "begin-00001-private",
      actualScale: 1,
      desiredScale: 1,
    });
    world.startMs = 20;
  });

  it("has a network of its own in mode Proxy, owned by its PodAutoscaler", async () => {
    const key = await world.define("network-00001");
    await becomes(key, ACTIVE);
    const network = await readNetwork(key);
    const scaler = await world.readScaler(key);
    expect(network.spec).toMatchObject({
      mode: "Proxy",
      protocolType: "http1",
      objectRef: { apiVersion: "apps/v1", kind: "Deployment", name: "network-00001-deployment" },
    });
    expect(network.metadata.ownerReferences).toEqual([
      {
        apiVersion: "autoscaling.internal.knative.dev/v1alpha1",
        kind: "PodAutoscaler",
        name: "network-00001",
        uid: scaler.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(network.metadata.labels).toEqual(scaler.metadata.labels);
  });

  it("puts the mode back when somebody changes it", async () => {
    const key = await world.define("mode-00001");
    await becomes(key, ACTIVE);
    await api.client.write({
      method: "PATCH",
      patch: "merge-patch",
      path: objectPath("serverlessservices", splitKey(key)),
      body: { spec: { mode: "Serve", numActivators: 3 } },
    });
    await eventually(async () => {
      const { spec } = await readNetwork(key);
      return spec?.mode === "Proxy" && spec.numActivators === 2;
    }, SOON);
    await becomes(key, ACTIVE);
  });

  it("is led to more activators as soon as more pods are asked for than two can serve", async () => {
    const annotations = { "autoscaling.knative.dev/min-scale": "9" };
    const key = await world.define("part-00001", { annotations, containerConcurrency: 40 });
    await eventually(async () => (await readNetwork(key)).spec?.numActivators === 6, SOON);
  });

  it("goes to zero without traffic and comes back with the first request", async () => {
    const key = await world.define("zero-00001");
    await becomes(key, ACTIVE);
    await eventually(async () => (await world.replicas(key)) === 0, { timeoutMs: 30_000 });
    await becomes(key, [
      "Active False NoTraffic",
      "Ready False NoTraffic",
      "SKSReady Unknown NotReady",
      "ScaleTargetInitialized True",
    ]);
    expect(await status(key)).toMatchObject({ desiredScale: 0, actualScale: 0 });
    world.startMs = 1_000;
    const asked = performance.now();
    await demand.ask(key);
    await eventually(async () => (await world.replicas(key)) === 1, SOON);
    expect(performance.now() - asked).toBeLessThan(1_000);
    await eventually(async () => (await words(key)).includes("Active Unknown Queued"), SOON);
    await becomes(key, ACTIVE);
    await demand.leave();
    world.startMs = 20;
  }, 60_000);

  it("writes nothing where nothing changes", async () => {
    const key = await world.define("still-00001", {
      annotations: { "autoscaling.knative.dev/min-scale": "1" },
    });
    await becomes(key, ACTIVE);
    await decisions(key, 2);
    const ofKey = (): number =>
      controller.writes.filter(({ path }) => path.includes("still-00001")).length;
    const before = ofKey();
    const version = (await world.readScaler(key)).metadata.resourceVersion;
    await decisions(key, 3);
    expect(ofKey()).toBe(before);
    expect((await world.readScaler(key)).metadata.resourceVersion).toBe(version);
  });

  it("repairs a status that somebody wrote over", async () => {
    const key = await world.define("repair-00001");
    await becomes(key, ACTIVE);
    const path = objectPath("podautoscalers", splitKey(key));
    await setStatus(api.client, path, { serviceName: "", metricsServiceName: "", actualScale: 7 });
    await eventually(async () => {
      const { serviceName, actualScale } = await status(key);
      return serviceName === "repair-00001" && actualScale !== 7;
    }, SOON);
  });

  it("says that a network which is not its own is in the way, and leaves it alone", async () => {
    const spec = {
      mode: "Serve",
      protocolType: "http1",
      objectRef: { apiVersion: "apps/v1", kind: "Deployment", name: "other" },
    };
    await api.client.write({
      method: "POST",
      path: "/apis/networking.internal.knative.dev/v1alpha1/namespaces/default/serverlessservices",
      body: {
        apiVersion: "networking.internal.knative.dev/v1alpha1",
        kind: "ServerlessService",
        metadata: { name: "foreign-00001", namespace: "default" },
        spec,
      },
    });
    const key = await world.define("foreign-00001", { replicas: 0 });
    await eventually(async () => (await words(key)).includes("Active False NotOwned"), SOON);
    expect((await readNetwork(key)).spec).toMatchObject(spec);
  });

  it("lets a revision of the stock class alone, but makes it known to the activators", async () => {
    const key = await world.define("stock-00001", { className: "kpa.autoscaling.knative.dev" });
    const known = await eventually(() => demand.handle.store.readRevision(key), SOON);
    expect(known).toMatchObject({
      revision: "stock-00001",
      containerConcurrency: 1,
      failure: null,
    });
    await eventually(async () => (await demand.handle.store.readTargets(key)).length === 1, SOON);
    expect((await world.readScaler(key)).status).toBeUndefined();
    await expect(readNetwork(key)).rejects.toThrow("404");
  });

  it("takes a revision over from the stock class and removes its metric", async () => {
    const key = await world.define("taken-00001", { className: "kpa.autoscaling.knative.dev" });
    const scaler = await world.readScaler(key);
    const owner = {
      apiVersion: "autoscaling.internal.knative.dev/v1alpha1",
      kind: "PodAutoscaler",
    };
    const reference = { ...owner, name: "taken-00001", uid: scaler.metadata.uid, controller: true };
    await api.client.write({
      method: "POST",
      path: "/apis/autoscaling.internal.knative.dev/v1alpha1/namespaces/default/metrics",
      body: {
        apiVersion: "autoscaling.internal.knative.dev/v1alpha1",
        kind: "Metric",
        metadata: { name: "taken-00001", namespace: "default", ownerReferences: [reference] },
        spec: { scrapeTarget: "taken-00001-private", stableWindow: 1, panicWindow: 1 },
      },
    });
    await api.client.write({
      method: "PATCH",
      patch: "merge-patch",
      path: objectPath("podautoscalers", splitKey(key)),
      body: {
        metadata: { annotations: { "autoscaling.knative.dev/class": "scaler.pilotlight.dev" } },
      },
    });
    await becomes(key, ACTIVE);
    await expect(
      eventually(() => api.client.read(objectPath("metrics", splitKey(key))), { timeoutMs: 2_000 }),
    ).rejects.toThrow("404");
  });

  it("forgets a revision that is deleted", async () => {
    const key = await world.define("gone-00001");
    await becomes(key, ACTIVE);
    await world.remove(key);
    await eventually(() => controller.cluster.objects.get(key) === undefined, SOON);
    await eventually(async () => (await demand.handle.store.readRevision(key)) === null, SOON);
  });

  it("keeps a deleted revision known until its pods have left, and scales it no more", async () => {
    const key = await world.define("leaving-00001");
    await becomes(key, ACTIVE);
    const [pod] = world.pods(key);
    if (pod === undefined) throw new Error("an active revision has a pod");
    // Held back, as a pod that drains.
    await world.patchPod(pod, { metadata: { finalizers: ["test/draining"] } });
    await demand.ask(key);
    await demand.ask(key);
    const scales = (): number =>
      controller.log.filter((line) => line.includes("scale changed") && line.includes(key)).length;
    await world.remove(key);
    await eventually(() => controller.cluster.objects.get(key)?.reachable === false, SOON);
    const before = scales();
    expect(await demand.handle.store.readRevision(key)).not.toBeNull();
    const drained = async (): Promise<boolean> => {
      const [target] = await demand.handle.store.readTargets(key);
      return target === undefined || target.state === "draining";
    };
    await eventually(drained, SOON);
    expect(scales()).toBe(before);
    await demand.leave();
    await world.patchPod(pod, { metadata: { finalizers: null } }).catch(() => undefined);
    await eventually(async () => (await demand.handle.store.readRevision(key)) === null, SOON);
  });

  it("waits for a node with the scheduler's words, and never reports a failure before", async () => {
    const key = await world.define("nowhere-00001", { start: "unscheduled" });
    const active = await eventually(async () => {
      const { conditions = [] } = await status(key);
      return conditions.find(
        ({ type, message = "" }) => type === "Active" && message.includes("nvidia.com/gpu"),
      );
    }, SOON);
    expect(active).toMatchObject({ status: "Unknown" });
    expect(active?.message).toContain("Unschedulable");
    expect((await demand.handle.store.readRevision(key))?.waitingFor).toContain(
      "waiting for a node",
    );
    expect(await world.replicas(key)).toBe(1);
  });

  it.each([
    { start: "crash" as const, reason: "CrashLoopBackOff" },
    { start: "no-image" as const, reason: "ImagePullBackOff" },
  ])("gives a start up after the third failure: $reason", async ({ start, reason }) => {
    world.startMs = 300;
    const key = await world.define(`${start}-00001`, { start });
    await demand.ask(key);
    const failed = await eventually(async () => {
      const config = await demand.handle.store.readRevision(key);
      return config?.failure ?? undefined;
    }, SOON);
    expect(failed.reason).toBe(reason);
    await eventually(async () => (await words(key)).includes(`Active Unknown ${reason}`), SOON);
    await demand.leave();
    world.startMs = 20;
  });
});
