/**
 * The autoscaler process of a cluster that is one of two cells: a real API server on its side, real
 * activators with the books in both cells, and the other cell's demand as a number.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { MAX_PODS, Sharer, SHARED_SERVICE } from "../cells/sharer.ts";
import { CellRig } from "../support/cell-rig.ts";
import { eventually } from "../support/eventually.ts";
import { startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { Demand } from "../support/kube-rig.ts";
import { grant } from "../support/kube-rights.ts";
import { KubeWorld } from "../support/kube-world.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";

const ROOT = join(import.meta.dirname, "../..");
const SOON = { timeoutMs: 60_000, everyMs: 50 };
const ANNOTATIONS = {
  "pilotlight.dev/regions": "eu,us,ap",
  "autoscaling.knative.dev/max-scale": String(MAX_PODS),
  "autoscaling.knative.dev/min-scale": "1",
  "autoscaling.knative.dev/window": "6s",
};
/** Pods that the other cell runs. */
const THERE = 6;

let api: KubeApi;
let valkey: ValkeyServer;
let rig: CellRig;
let world: KubeWorld;
let demand: Demand;
let there: Sharer;
let renewing: NodeJS.Timeout;
const children: ChildProcess[] = [];

beforeAll(async () => {
  [api, valkey] = await Promise.all([startKubeApi(), startValkey()]);
  await grant(api, "manifests/base/210-autoscaler-roles.yaml");
  world = new KubeWorld(api.client);
  rig = new CellRig(valkey, { names: ["eu", "us"] });
  await Promise.all([world.start(), rig.start()]);
  const { folder, certificates, bench } = rig.cell("eu");
  // The cluster is us, so that the home of the service is the other cell.
  there = new Sharer({ cell: "eu", folder, certificates, calls: bench.handle.cells });
  demand = new Demand(valkey, rig.cell("us").bench.prefix);
  renewing = setInterval(() => void demand.renew().catch(() => undefined), 1_000);
}, 90_000);

afterAll(async () => {
  clearInterval(renewing);
  for (const child of children) child.kill("SIGKILL");
  there?.close();
  await demand?.close();
  await world?.stop();
  await rig?.close();
  await Promise.all([api?.stop(), valkey?.stop()]);
});

async function startAutoscaler(): Promise<ChildProcess> {
  const { folder, certificates, bench } = rig.cell("us");
  const child = spawn(process.execPath, [join(ROOT, "autoscaler/main.ts")], {
    env: {
      PATH: process.env["PATH"],
      PILOTLIGHT_API_URL: api.url,
      PILOTLIGHT_ACCOUNT_FOLDER: api.account("autoscaler"),
      PILOTLIGHT_STORE_URL: valkey.url,
      PILOTLIGHT_STORE_PREFIX: bench.prefix,
      PILOTLIGHT_ADMIN_LISTEN: "127.0.0.1:0",
      PILOTLIGHT_LOG_LEVEL: "warn",
      PILOTLIGHT_CELL: "us",
      PILOTLIGHT_CELLS_FOLDER: folder,
      PILOTLIGHT_CELL_CERTIFICATES: certificates,
      POD_NAME: "autoscaler-test",
    },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  children.push(child);
  await once(child, "message");
  return child;
}

const shareIn = async (cell: string): Promise<number> =>
  (await rig.cell("eu").bench.handle.cells.readBook(SHARED_SERVICE)).get(cell) ?? 0;

describe("an autoscaler of a cluster that is one of several cells", () => {
  let key: RevisionKey;

  it("starts no more pods than the home cell's book grants it", async () => {
    there.demand = THERE;
    await startAutoscaler();
    key = await world.define("shared-00001", {
      service: "shared",
      annotations: ANNOTATIONS,
      replicas: 0,
    });
    await eventually(async () => (await shareIn("eu")) >= THERE && (await shareIn("us")) > 0, SOON);
    for (let request = 0; request < MAX_PODS; request += 1) await demand.ask(key);
    const rest = MAX_PODS - THERE;
    await eventually(async () => (await world.replicas(key)) === rest, SOON);
    expect(await shareIn("us")).toBe(rest);
    expect(there.running).toBe(THERE);
  }, 120_000);

  it("keeps its pods and its share when another process takes over", async () => {
    const before = await world.replicas(key);
    const seen = new Set<number>();
    const watching = setInterval(
      () => void world.replicas(key).then((replicas) => seen.add(replicas)),
      50,
    );
    const next = await startAutoscaler();
    children[0]?.kill("SIGKILL");
    // More is free now: only one who leads, and speaks for the cell, can take it.
    there.demand = 0;
    await eventually(async () => (await world.replicas(key)) === MAX_PODS - 1, SOON);
    clearInterval(watching);
    expect(Math.min(...seen)).toBe(before);
    expect(next.exitCode).toBe(null);
    expect((await shareIn("us")) + (await shareIn("eu"))).toBeLessThanOrEqual(MAX_PODS);
  }, 120_000);

  it("gives back what its pods do not need, once they are gone", async () => {
    await demand.leave();
    there.demand = MAX_PODS - 1;
    await eventually(() => there.running === MAX_PODS - 1, SOON);
    // Min-scale is kept by the home cell, and this one keeps room for its first pod.
    expect(await world.replicas(key)).toBe(0);
    expect(await shareIn("us")).toBe(1);
    const { conditions = [] } = (await world.readScaler(key)).status ?? {};
    const words = Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
    expect(words).toMatchObject({ Active: "False", ScaleTargetInitialized: "True" });
  }, 120_000);
});
