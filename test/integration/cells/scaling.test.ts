/** Controllers of three cells over real books and streams: who holds what, and what others hear. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createCellParts } from "../../../autoscaler/cell-parts.ts";
import type { CellParts } from "../../../autoscaler/cell-parts.ts";
import { createAutoscaler } from "../../../autoscaler/controller.ts";
import type { Autoscaler } from "../../../autoscaler/controller.ts";
import { Certificates } from "../../../cells/certificates.ts";
import { parseFacts } from "../../../cells/core/merge-revisions.ts";
import { createRandom } from "../../../common/random.ts";
import type { RevisionKey } from "../../../common/contracts/routing.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { ZERO_ALLOWED } from "../../support/autoscaler-rig.ts";
import { scaledRevision, SERVICE_KEY, World } from "../../support/autoscaler-world.ts";
import { CellRig } from "../../support/cell-rig.ts";
import type { CellCalls } from "../../../store/cell-calls.ts";
import { eventually } from "../../support/eventually.ts";
import { acquireRequest } from "../../support/routing.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const CELLS = ["eu", "us", "ap"] as const;
type Cell = (typeof CELLS)[number];
const SOON = { timeoutMs: 30_000, everyMs: 50 };
const NEXT: RevisionKey = "default/echo-00002";
/** What the store of us still says. */
const HELD = JSON.stringify({ holds: 4, number: 1, home: "eu" });
const logger = createLogger({ name: "test", level: "silent" });

let server: ValkeyServer;
let rig: CellRig;
let ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
beforeEach(async () => {
  rig = await new CellRig(server, { names: CELLS }).start();
});
afterEach(async () => {
  for (const end of ends) await end();
  ends = [];
  await rig.close();
});

function revision(max: number, key: RevisionKey = SERVICE_KEY) {
  const annotations = {
    "pilotlight.dev/regions": "eu,us,ap",
    "autoscaling.knative.dev/initial-scale": "0",
    "autoscaling.knative.dev/max-scale": String(max),
  };
  return scaledRevision({ key, revision: key.split("/")[1] ?? "", annotations });
}

interface Running {
  readonly world: World;
  readonly cells: CellParts;
  readonly autoscaler: Autoscaler;
}

async function start(cell: Cell, world: World, changed: Partial<CellCalls> = {}): Promise<Running> {
  const { bench, folder, certificates: pair } = rig.cell(cell);
  const { store, subscriber } = bench.handle;
  const calls = { ...bench.handle.cells, ...changed };
  const certificates = new Certificates(pair, logger);
  const revisions = world.objects.list();
  const shared = { calls, logger, certificates, revisions };
  const cells = createCellParts({ ...shared, own: cell, folder, name: `scaler-${cell}` });
  const autoscaler = createAutoscaler({
    cellScaling: cells.scaling,
    store,
    subscriber,
    objects: world.objects,
    scale: world.scale,
    status: world.status,
    clock: systemClock,
    random: createRandom(1),
    logger,
    defaults: ZERO_ALLOWED,
  });
  cells.start();
  await autoscaler.start();
  ends.push(async () => {
    cells.close();
    await autoscaler.stop();
  });
  return { world, cells, autoscaler };
}

function worldOf(...revisions: readonly ReturnType<typeof revision>[]): World {
  const world = new World();
  for (const one of revisions) world.apply(one);
  return world;
}

async function ask(cell: Cell, count: number, key = SERVICE_KEY): Promise<void> {
  const { store } = rig.cell(cell).bench;
  await store.renewActivator(key, "act-1");
  for (let index = 0; index < count; index += 1) {
    await store.acquireLease(acquireRequest(`r-${cell}-${index}`, { revision: key }));
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);

const shares = async (): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries(await rig.cell("eu").bench.handle.cells.readBook("default/echo"));

const factsIn = async (cell: Cell) => {
  const reading = await rig.cell(cell).bench.handle.cells.readDigest(SERVICE_KEY);
  return parseFacts(reading?.facts ?? "");
};

describe("a service with fewer pods than cells", () => {
  it("keeps its room at home, and starts a pod where the demand is", async () => {
    for (const cell of CELLS) await start(cell, worldOf(revision(2)));
    await eventually(async () => {
      const { eu, us, ap } = await shares();
      return eu === 1 && us === 0 && ap === 0;
    }, SOON);
    // None is held in ap, but one could be had: others hear that it may start a pod.
    await eventually(async () => (await factsIn("ap"))?.mayStart === 1, SOON);
    await ask("ap", 3);
    await eventually(async () => (await shares())["ap"] === 1, SOON);
    await eventually(async () => (await factsIn("us"))?.mayStart === 0, SOON);
    expect(await shares()).toEqual({ eu: 1, us: 0, ap: 1 });
  });
});

describe("a controller that finds pods when it begins", () => {
  it("counts those of every revision before it starts more, or says what it holds", async () => {
    const max = 7;
    await start("eu", worldOf(revision(max)));
    await start("ap", worldOf(revision(max)));
    const world = new World();
    world.apply(revision(max), 2);
    world.apply(revision(max, NEXT), 2);
    const { cells } = rig.cell("us").bench.handle;
    await cells.writeOwnShare("default/echo", HELD);
    const gate = Promise.withResolvers<void>();
    const slow: Partial<CellCalls> = {
      readOwnShare: (service) => gate.promise.then(() => cells.readOwnShare(service)),
    };
    await ask("us", 5);
    world.broken = (call, key) => call === "listPods" && key === NEXT;
    const { autoscaler } = await start("us", world, slow);
    let decisions = 0;
    autoscaler.onDecision(({ key }) => (decisions += key === SERVICE_KEY ? 1 : 0));
    await eventually(() => decisions >= 2, SOON);
    // Nobody knows yet what runs of the other one: neither more pods, nor fewer, nor a word.
    expect(world.writes).toEqual([]);
    expect(await shares()).not.toHaveProperty("us");
    world.broken = null;
    // Nor while its own share is not read.
    await eventually(() => autoscaler.decisions(NEXT).length > 0, SOON);
    decisions = 0;
    await eventually(() => decisions >= 2, SOON);
    expect(world.writes.filter(({ key }) => key === SERVICE_KEY)).toEqual([]);
    gate.resolve();
    await eventually(() => (world.replicas.get(SERVICE_KEY) ?? 0) >= 3, SOON);
    expect(world.writes.every(({ key, replicas }) => key === NEXT || replicas > 2)).toBe(true);
    const { eu = 0, us = 0, ap = 0 } = await shares();
    expect(eu + us + ap).toBeLessThanOrEqual(max);
    expect(sum([...world.replicas.values()])).toBeLessThanOrEqual(us);
  });
});

describe("what other cells are told", () => {
  it("is written again where the store has lost it", async () => {
    const { autoscaler } = await start("eu", worldOf(revision(9)));
    for (const cell of ["us", "ap"] as const) await start(cell, worldOf(revision(9)));
    // All have their room, and nothing changes any more.
    await eventually(async () => (await factsIn("eu"))?.mayStart === 9 - 2, SOON);
    await rig.cell("eu").bench.handle.cells.writeFacts(SERVICE_KEY, "");
    expect(await factsIn("eu")).toBe(null);
    // As each look at the configuration in the store, which comes by itself each half a minute.
    autoscaler.useDefaults(ZERO_ALLOWED);
    await eventually(async () => (await factsIn("eu"))?.share === 1, { timeoutMs: 5_000 });
  });
});
