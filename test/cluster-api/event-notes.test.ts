/** What `kubectl describe` shows of a revision's faults: said on both objects, and not again and again. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { eventually } from "../support/eventually.ts";
import { startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { Demand, startController } from "../support/kube-rig.ts";
import type { RunningController } from "../support/kube-rig.ts";
import { KubeWorld } from "../support/kube-world.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";

const SOON = { timeoutMs: 30_000, everyMs: 50 };

interface KubeEvent {
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly uid: string };
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly count: number;
}

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
  controller = await startController({
    apiUrl: api.url,
    accountFolder: api.accountFolder,
    store,
    prefix,
  });
}, 90_000);

afterEach(() => demand.leave());

afterAll(async () => {
  await controller?.stop();
  await demand?.close();
  await world?.stop();
  await Promise.all([api?.stop(), store?.stop()]);
});

async function eventsOf(name: string): Promise<readonly KubeEvent[]> {
  const path = "/api/v1/namespaces/default/events";
  const { items } = await api.client.read<{ items: readonly KubeEvent[] }>(path);
  return items.filter(({ involvedObject }) => involvedObject.name === name);
}

const firstOf = (name: string, reason: string): Promise<KubeEvent> =>
  eventually(async () => (await eventsOf(name)).find((event) => event.reason === reason), SOON);

describe("events of a revision", () => {
  it("say what its pods wait for, with the scheduler's words", async () => {
    await world.define("nowhere-00001", { start: "unscheduled" });
    const event = await firstOf("nowhere-00001", "WaitingForNode");
    expect(event).toMatchObject({ type: "Warning", count: 1 });
    expect(event.involvedObject).toMatchObject({ kind: "PodAutoscaler" });
    expect(event.involvedObject.uid).not.toBe("");
    expect(event.message).toContain("nvidia.com/gpu");
  });

  it("say that an image cannot be had, once, however often it is tried", async () => {
    world.startMs = 200;
    const key: RevisionKey = await world.define("no-image-00001", { start: "no-image" });
    await demand.ask(key);
    await firstOf("no-image-00001", "ImagePullBackOff");
    // By then it was tried three times.
    await eventually(
      async () => (await demand.handle.store.readRevision(key))?.failure ?? undefined,
      SOON,
    );
    const said = await eventsOf("no-image-00001");
    expect(said.map(({ reason, count }) => `${reason} ${count}`)).toEqual(["ImagePullBackOff 1"]);
    world.startMs = 20;
  });

  it("say of each pod that is in quarantine, and stop where one revision has too much to say", async () => {
    const key = await world.define("many-00001");
    // Status is written by who has seen the revision; before that there is nothing to speak of.
    await eventually(async () => (await world.readScaler(key)).status?.conditions, SOON);
    const at = Date.now();
    for (let pod = 0; pod < 60; pod += 1) {
      const data = { pod: `uid-${pod}`, name: `many-${pod}`, reason: "connect failed" };
      const quarantined = { type: "dev.pilotlight.target.quarantined", subject: key, at, data };
      controller.cluster.notes.emit(quarantined);
      controller.cluster.notes.emit(quarantined);
    }
    await eventually(async () => (await eventsOf("many-00001")).length === 25, SOON);
    const messages = (await eventsOf("many-00001")).map(({ message }) => message);
    expect(new Set(messages).size).toBe(25);
    expect(messages).toContain("Pod many-0 gets no requests for now: connect failed");
  });

  it("say what came before the revision was seen, once it is told again", async () => {
    const data = { pod: "uid-0", name: "late-0", reason: "connect failed" };
    const subject = "default/late-00001";
    const quarantined = { type: "dev.pilotlight.target.quarantined", subject, at: 0, data };
    controller.cluster.notes.emit(quarantined);
    const key = await world.define("late-00001");
    await eventually(async () => (await world.readScaler(key)).status?.conditions, SOON);
    controller.cluster.notes.emit(quarantined);
    const event = await firstOf("late-00001", "TargetQuarantined");
    expect(event).toMatchObject({ count: 1, message: expect.stringContaining("late-0") });
  });
});
