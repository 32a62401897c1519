/**
 * `npm run bench:routing`: what routing costs inside the store, at 10 to 50,000 targets of one
 * revision and for every policy; memory per target; time from a release to the waiting activator.
 * Sizes are measured in turns on one server, so that a busy machine slows all of them alike.
 *
 *   npm run bench:routing -- --json bench/results/routing.json [--rounds 20]
 */
import { parseArgs } from "node:util";
import type { LoadBalancingPolicy, RevisionKey } from "../common/contracts/routing.ts";
import { createRandom } from "../common/random.ts";
import { exitCodeOf, ReportBuilder, writeReport } from "../foundation/report.ts";
import { createStore } from "../store/store.ts";
import type { StoreHandle } from "../store/store.ts";
import { acquireRequest, pushReport, revisionConfig } from "../test/support/routing.ts";
import { startValkey } from "../test/support/valkey.ts";
import type { ValkeyServer } from "../test/support/valkey.ts";

const SIZES = [10, 1_000, 10_000, 50_000] as const;
const POLICIES = ["first-available", "round-robin", "min-connections", "random-choice-2"] as const;
/** Calls of one turn; 16 in flight, as in the measurements that the layout rests on. */
const CALLS = 160;
const IN_FLIGHT = 16;
const HANDOVERS = 2_000;

interface Cost {
  calls: number;
  us: number;
}

const { values } = parseArgs({
  options: { json: { type: "string" }, rounds: { type: "string", default: "12" } },
});
const report = new ReportBuilder("bench:routing");
const server = await startValkey();
const store = createStore({
  url: server.url,
  prefix: "bench:",
  activatorId: "bench",
  timeoutMs: 30_000,
});
const random = createRandom(1);
let requests = 0;
try {
  await store.ready();
  report.store((await serverInfo("server", "valkey_version")) ?? "", server.kind === "redis");
  await measureMemory();
  await measureScripts(Number(values.rounds));
  await measureHandOver();
  report.complete();
} finally {
  await store.close();
  await server.stop();
  const finished = report.report();
  for (const row of finished.rows) {
    console.log(`${row.id.padEnd(40)} ${row.value?.toFixed(2)} ${row.unit}  ${row.verdict}`);
  }
  for (const [name, rows] of Object.entries(finished.tables)) {
    console.log(`\n${name}`);
    console.table(rows);
  }
  if (values.json !== undefined) writeReport(finished, values.json);
  process.exitCode = exitCodeOf(finished);
}

function revisionOf(targets: number): RevisionKey {
  return `bench/of-${targets}`;
}

async function configure(targets: number, policy: LoadBalancingPolicy): Promise<void> {
  const config = revisionConfig({ namespace: "bench", revision: `of-${targets}`, policy });
  await store.store.configureRevision(config);
}

/** Fills every revision and weighs the largest one. */
async function measureMemory(): Promise<void> {
  for (const targets of SIZES) {
    await configure(targets, "first-available");
    const before = Number(await serverInfo("memory", "used_memory"));
    for (let from = 0; from < targets; from += 500) {
      const batch = Array.from({ length: Math.min(500, targets - from) }, (_, i) => from + i);
      await Promise.all(batch.map((index) => addTarget(store, targets, index)));
    }
    const bytes = (Number(await serverInfo("memory", "used_memory")) - before) / targets;
    report.addToTable("memory", { targets, bytesPerTarget: Math.round(bytes) });
    if (targets === 50_000) {
      const limits = { must: "<= 1024", goal: "<= 512" };
      report.row({ id: "routing.bytes_per_target", value: bytes, unit: "B", ...limits });
    }
  }
}

function addTarget(handle: StoreHandle, targets: number, index: number): Promise<unknown> {
  const uid = `3f2c1d9e-8b7a-4c6d-9e0f-${String(index).padStart(12, "0")}`;
  const marks = { spawnedAt: 1_764_459_734_123.25, readyAt: 1_764_459_734_890.5 };
  const changes = {
    revision: revisionOf(targets),
    podName: `echo-00001-deployment-7d9f8b6c5-${index}`,
    boot: 1_764_459_734_123,
    capacity: 4,
    marks,
  };
  return handle.store.reportReadiness(pushReport(uid, changes), { card: "h100", marks: {} });
}

/** Mean server time of acquire and release for each size and policy, in turns. */
async function measureScripts(rounds: number): Promise<void> {
  const costs = new Map<string, { acquire: Cost; release: Cost }>();
  for (let round = 0; round < rounds; round += 1) {
    for (const policy of POLICIES) {
      for (const targets of SIZES.slice(1)) await measureTurn(targets, policy, costs);
    }
  }
  const pairs = new Map<string, number>();
  for (const [name, { acquire, release }] of costs) {
    const [targets = "", policy = ""] = name.split(" ");
    const acquireUs = acquire.us / acquire.calls;
    const releaseUs = release.us / release.calls;
    pairs.set(name, acquireUs + releaseUs);
    report.addToTable("scripts", {
      targets: Number(targets),
      policy,
      acquireUs: Math.round(acquireUs * 10) / 10,
      releaseUs: Math.round(releaseUs * 10) / 10,
    });
  }
  reportGrowth(pairs);
  const acquires = POLICIES.map((policy) => costs.get(`50000 ${policy}`)?.acquire);
  const us = acquires.reduce((sum, cost) => sum + (cost?.us ?? 0), 0);
  const calls = acquires.reduce((sum, cost) => sum + (cost?.calls ?? 0), 0);
  const limits = { must: "<= 15", goal: "<= 8" };
  report.row({
    id: "routing.script.acquire.mean",
    value: us / calls,
    unit: "us",
    n: calls,
    ...limits,
  });
}

function reportGrowth(pairs: ReadonlyMap<string, number>): void {
  const growths = POLICIES.map(
    (policy) =>
      (pairs.get(`50000 ${policy}`) ?? Number.NaN) / (pairs.get(`1000 ${policy}`) ?? Number.NaN),
  );
  report.row({
    id: "routing.growth.50000_over_1000",
    value: Math.max(...growths),
    unit: "ratio",
    must: "<= 1.15",
    goal: "<= 1.05",
  });
}

async function measureTurn(
  targets: number,
  policy: LoadBalancingPolicy,
  costs: Map<string, { acquire: Cost; release: Cost }>,
): Promise<void> {
  await configure(targets, policy);
  const name = `${targets} ${policy}`;
  const cost = costs.get(name) ?? { acquire: { calls: 0, us: 0 }, release: { calls: 0, us: 0 } };
  costs.set(name, cost);
  const revision = revisionOf(targets);
  const ids = Array.from({ length: CALLS }, () => `r${(requests += 1)}`);
  await addCost(cost.acquire, () =>
    inBatches(ids, (leaseId) =>
      store.store.acquireLease(
        acquireRequest(leaseId, { revision, random: [random(), random()], activatorId: "bench" }),
      ),
    ),
  );
  await addCost(cost.release, () =>
    inBatches(ids, (leaseId) =>
      store.store.releaseLease({ revision, leaseId, outcome: "done", status: 200, serviceMs: 1 }),
    ),
  );
}

async function inBatches(
  ids: readonly string[],
  call: (id: string) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < ids.length; from += IN_FLIGHT) {
    await Promise.all(ids.slice(from, from + IN_FLIGHT).map(call));
  }
}

async function addCost(cost: Cost, run: () => Promise<void>): Promise<void> {
  const before = await scriptTime(server);
  await run();
  const after = await scriptTime(server);
  cost.calls += after.calls - before.calls;
  cost.us += after.us - before.us;
}

async function scriptTime({ admin }: ValkeyServer): Promise<Cost> {
  const stats = await admin.info("commandstats");
  const match = /cmdstat_fcall:calls=(\d+),usec=(\d+)/.exec(stats);
  return { calls: Number(match?.[1] ?? 0), us: Number(match?.[2] ?? 0) };
}

/** From the call of a release to the message that another request holds the slot. */
async function measureHandOver(): Promise<void> {
  const waiter = createStore({ url: server.url, prefix: "bench:", activatorId: "waiter" });
  const revision: RevisionKey = "bench/one";
  let heard: (() => void) | null = null;
  waiter.subscriber.onAssignment(() => heard?.());
  await waiter.ready();
  await store.store.configureRevision(revisionConfig({ namespace: "bench", revision: "one" }));
  const changes = { revision, boot: 1_764_459_734_123 };
  await store.store.reportReadiness(pushReport("a", changes), { card: "", marks: {} });
  const acquire = (leaseId: string): Promise<unknown> =>
    waiter.store.acquireLease(acquireRequest(leaseId, { revision, activatorId: "waiter" }));
  await acquire("h0");
  const times: number[] = [];
  for (let turn = 0; turn < HANDOVERS; turn += 1) {
    await acquire(`h${turn + 1}`);
    const handed = new Promise<void>((resolve) => (heard = resolve));
    const startedAt = performance.now();
    const released = store.store.releaseLease({
      revision,
      leaseId: `h${turn}`,
      outcome: "done",
      status: 200,
      serviceMs: 1,
    });
    await handed;
    times.push(performance.now() - startedAt);
    await released;
  }
  await waiter.close();
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  const shared = { unit: "ms", n: HANDOVERS };
  const p50 = { must: "<= 0.5", goal: "<= 0.15" };
  const p99 = { must: "<= 5", goal: "<= 0.5" };
  report.row({ id: "routing.handover.p50", value: at(0.5), ...shared, ...p50 });
  report.row({ id: "routing.handover.p99", value: at(0.99), ...shared, ...p99 });
}

async function serverInfo(section: string, field: string): Promise<string | undefined> {
  const info = await server.admin.info(section);
  return new RegExp(`^${field}:(.*?)\\r?$`, "m").exec(info)?.[1];
}
