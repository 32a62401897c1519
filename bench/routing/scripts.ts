/**
 * Time inside the server of acquire and release, at 10 to 50,000 targets and for every policy, each
 * beside a call of an empty function with the same keys. All sizes and policies take turns, so that
 * a busy machine slows them alike; a figure is the median of its rounds.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import type { LoadBalancingPolicy, RevisionKey } from "../../common/contracts/routing.ts";
import { createRandom } from "../../common/random.ts";
import { acquireLease } from "../../store/bindings/acquire-lease.ts";
import { releaseLease } from "../../store/bindings/requests.ts";
import { createKeys } from "../../store/keys.ts";
import { loadScripts } from "../../store/load-scripts.ts";
import { acquireRequest } from "../../test/support/routing.ts";
import { lineChart } from "../hexgen/svg.ts";
import { ACTIVATOR, PREFIX, configure, reportFleet, serverInfo } from "./bench.ts";
import type { RoutingBench } from "./bench.ts";
import { median, quantile, rounded, spread } from "./statistics.ts";

const SIZES = [10, 1_000, 10_000, 50_000] as const;
/** Their ratio is judged, so they have three times the rounds of the others. */
const JUDGED: readonly number[] = [1_000, 50_000];
const POLICIES = [
  "first-available",
  "round-robin",
  "random-choice-2",
  "min-connections",
] as const satisfies readonly LoadBalancingPolicy[];
/** One lease on each target, room for three more: the largest index and the most leases at once. */
const CAPACITY = 4;
const IN_FLIGHT = 16;
const CALLS = 64;
const EMPTY =
  "#!lua name=bench_empty\nredis.register_function('bench_empty', function() return { 'ok' } end)";

interface Rounds {
  readonly acquire: number[];
  readonly release: number[];
  readonly batchedAcquire: number[];
  readonly batchedRelease: number[];
  readonly most: number[];
}

/**
 * Policies with an index of their own have a revision of their own: a change of index puts all targets
 * in another order, and frees the old one beside what is measured.
 */
const revisionOf = (targets: number, policy: LoadBalancingPolicy): RevisionKey =>
  `bench/of-${targets}${policy === "min-connections" ? "-by-load" : ""}`;

export async function measureScripts(bench: RoutingBench): Promise<void> {
  await measureMemory(bench);
  const empty: number[] = [];
  const rounds = new Map<string, Rounds>();
  await bench.server.admin.function("LOAD", "REPLACE", EMPTY);
  await bench.server.admin.config("SET", "latency-tracking-info-percentiles", "50 99 100");
  for (let round = 0; round < (bench.quick ? 3 : 121); round += 1) {
    const sizes = SIZES.filter((targets) => round % 3 === 0 || JUDGED.includes(targets));
    for (const policy of POLICIES) {
      // One after the other: what is compared has the same machine.
      for (const targets of round % 2 === 0 ? sizes : sizes.toReversed()) {
        const revision = revisionOf(targets, policy);
        await configure(bench, revision, policy);
        empty.push(await measureEmpty(bench, revision));
        await measureTurn(bench, revision, roundsOf(rounds, `${targets} ${policy}`));
      }
    }
  }
  reportTable(bench, rounds, median(empty));
  reportGrowth(bench, rounds);
  reportAcquire(bench, rounds);
  plotGrowth(bench, rounds);
}

/** Fills every revision, weighs the targets of the largest one, and gives each target a lease. */
async function measureMemory(bench: RoutingBench): Promise<void> {
  const { server, store, report } = bench;
  const used = async (): Promise<number> =>
    Number(await serverInfo(server, "memory", "used_memory"));
  for (const policy of ["first-available", "min-connections"] as const) {
    for (const targets of SIZES) {
      const revision = revisionOf(targets, policy);
      await configure(bench, revision, policy);
      const before = await used();
      await reportFleet(store, { revision, targets, capacity: CAPACITY });
      const bytes = ((await used()) - before) / targets;
      await inBatches(targets, 512, () =>
        store.store.acquireLease(
          acquireRequest(randomUUID(), { revision, activatorId: ACTIVATOR }),
        ),
      );
      const leased = ((await used()) - before) / targets - bytes;
      report.addToTable("memory", {
        targets,
        policy,
        bytesPerTarget: Math.round(bytes),
        bytesPerLease: Math.round(leased),
      });
      if (targets !== 50_000 || policy === "first-available") continue;
      const limits = { must: "<= 1024", goal: "<= 512" };
      report.row({
        id: "routing.bytes_per_target",
        value: bytes,
        unit: "B",
        n: targets,
        ...limits,
      });
    }
  }
}

const random = createRandom(1);
const keys = createKeys(PREFIX);
const library = loadScripts();

async function measureEmpty({ server }: RoutingBench, revision: RevisionKey): Promise<number> {
  const names = keys.list(revision, acquireLease.keys);
  const call = (): Promise<unknown> =>
    server.admin.fcall("bench_empty", names.length, ...names, randomUUID(), ACTIVATOR, "0.1 0.2");
  return (await timeOf(server, () => inBatches(CALLS, IN_FLIGHT, call))) / CALLS;
}

async function measureTurn(
  bench: RoutingBench,
  revision: RevisionKey,
  rounds: Rounds,
): Promise<void> {
  const { server, store } = bench;
  const ids = Array.from({ length: CALLS }, () => randomUUID());
  const requests = ids.map((id) =>
    acquireRequest(id, { revision, activatorId: ACTIVATOR, random: [random(), random()] }),
  );
  // As single calls first, each size and policy at most 16 in flight ...
  const context = { keys, now: "0" };
  const acquires = requests.map((request) => acquireLease.encode(request, context));
  const releases = ids.map((leaseId) => releaseLease.encode({ leaseId, outcome: "done" }, context));
  const single = async (binding: typeof acquireLease | typeof releaseLease, all: string[][]) => {
    const names = keys.list(revision, binding.keys);
    const name = library.functionName(binding.script);
    return inBatches(CALLS, IN_FLIGHT, (call) =>
      server.admin.fcall(name, names.length, ...names, ...(all[call] ?? [])),
    );
  };
  await server.admin.config("RESETSTAT");
  rounds.acquire.push((await timeOf(server, () => single(acquireLease, acquires))) / CALLS);
  rounds.most.push(await longestOf(server));
  rounds.release.push((await timeOf(server, () => single(releaseLease, releases))) / CALLS);
  // ... then as the product sends them: those of one turn of the event loop in one call.
  const acquire = (call: number): Promise<unknown> =>
    store.store.acquireLease({
      ...acquireRequest(ids[call] ?? "", requests[call]),
      leaseId: `${ids[call]}b`,
    });
  const release = (call: number): Promise<unknown> =>
    store.store.releaseLease({
      revision,
      leaseId: `${ids[call]}b`,
      outcome: "done",
      status: 200,
      serviceMs: 1,
    });
  const batches = (call: (index: number) => Promise<unknown>): Promise<number> =>
    timeOf(server, () => inBatches(CALLS, IN_FLIGHT, call));
  rounds.batchedAcquire.push((await batches(acquire)) / CALLS);
  rounds.batchedRelease.push((await batches(release)) / CALLS);
}

/** At most `width` of the calls at once. */
async function inBatches(
  calls: number,
  width: number,
  call: (index: number) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < calls; from += width) {
    const count = Math.min(width, calls - from);
    await Promise.all(Array.from({ length: count }, (_, offset) => call(from + offset)));
  }
}

/** Time in us that functions took inside the server while `run` went on. */
async function timeOf(
  server: RoutingBench["server"],
  run: () => Promise<unknown>,
): Promise<number> {
  const spent = async (): Promise<number> =>
    Number(
      /cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(await server.admin.info("commandstats"))?.[1] ?? 0,
    );
  const before = await spent();
  await run();
  return (await spent()) - before;
}

/** Longest function call in us since the statistics were reset. */
async function longestOf({ admin }: RoutingBench["server"]): Promise<number> {
  const stats = await admin.info("latencystats");
  return Number(/latency_percentiles_usec_fcall:.*p100=([\d.]+)/.exec(stats)?.[1] ?? Number.NaN);
}

function roundsOf(all: Map<string, Rounds>, name: string): Rounds {
  let rounds = all.get(name);
  if (rounds === undefined) {
    rounds = { acquire: [], release: [], batchedAcquire: [], batchedRelease: [], most: [] };
    all.set(name, rounds);
  }
  return rounds;
}

function reportTable(
  { report }: RoutingBench,
  rounds: ReadonlyMap<string, Rounds>,
  emptyUs: number,
): void {
  for (const [name, { acquire, release, batchedAcquire, batchedRelease, most }] of rounds) {
    const [targets = "", policy = ""] = name.split(" ");
    report.addToTable("scripts", {
      targets: Number(targets),
      policy,
      acquireUs: rounded(median(acquire)),
      acquireMaxUs: rounded(median(most)),
      releaseUs: rounded(median(release)),
      batchedAcquireUs: rounded(median(batchedAcquire)),
      batchedReleaseUs: rounded(median(batchedRelease)),
      emptyUs: rounded(emptyUs),
      acquireOverEmpty: rounded(median(acquire) / emptyUs),
      releaseOverEmpty: rounded(median(release) / emptyUs),
    });
  }
}

/** Growth of acquire plus release, round by round, of the policy that grows most. */
function reportGrowth({ report }: RoutingBench, rounds: ReadonlyMap<string, Rounds>): void {
  const growths = POLICIES.map((policy) => {
    const [large, small] = [rounds.get(`50000 ${policy}`), rounds.get(`1000 ${policy}`)];
    const pairs = (of: Rounds | undefined): number[] =>
      (of?.acquire ?? []).map((acquire, round) => acquire + (of?.release[round] ?? Number.NaN));
    const base = pairs(small);
    const ratios = pairs(large).map((pair, round) => pair / (base[round] ?? Number.NaN));
    report.addToTable("growth", {
      policy,
      roundByRound: rounded(median(ratios)),
      quarters: [quantile(ratios, 0.25), quantile(ratios, 0.75)].map(rounded).join(" to "),
      ofMedians: rounded(median(pairs(large)) / median(base)),
    });
    return { ratio: median(ratios), ratios };
  });
  const worst = growths.reduce((most, other) => (other.ratio > most.ratio ? other : most));
  report.row({
    id: "routing.growth.50000_over_1000",
    value: worst.ratio,
    unit: "ratio",
    n: worst.ratios.length,
    spread: spread(worst.ratios),
    must: "<= 1.15",
    goal: "<= 1.05",
  });
}

function reportAcquire({ report }: RoutingBench, rounds: ReadonlyMap<string, Rounds>): void {
  const of = (pick: (rounds: Rounds) => number[]): number[] =>
    POLICIES.map((policy) => {
      const own = rounds.get(`50000 ${policy}`);
      return own === undefined ? Number.NaN : median(pick(own));
    });
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const n = (rounds.get(`50000 ${POLICIES[0]}`)?.acquire.length ?? 0) * CALLS * POLICIES.length;
  const shared = { unit: "us", n };
  report.row({
    id: "routing.script.acquire.mean",
    value: mean(of(({ batchedAcquire }) => batchedAcquire)),
    ...shared,
    must: "<= 15",
    goal: "<= 8",
  });
  report.row({
    id: "routing.script.acquire.single.mean",
    value: mean(of(({ acquire }) => acquire)),
    ...shared,
  });
  report.row({
    id: "routing.script.acquire.max",
    value: Math.max(...of(({ most }) => most)),
    ...shared,
    must: "<= 300",
    goal: "<= 100",
  });
  report.note(
    "routing.script.acquire.mean is what the product pays per acquire with 16 in flight, where the " +
      "calls of one turn share one call of the server; .single is the same script called alone. " +
      "The maximum is that of single calls: median over rounds of the longest call of a round, of " +
      "the slowest policy. A call that the machine takes off its core counts with its wait.",
  );
}

function plotGrowth({ report }: RoutingBench, rounds: ReadonlyMap<string, Rounds>): void {
  const path = "bench/results/routing-growth.svg";
  const series = POLICIES.map((name) => ({
    name,
    points: SIZES.map((targets): [number, number] => {
      const own = rounds.get(`${targets} ${name}`);
      return [targets, median(own?.acquire ?? []) + median(own?.release ?? [])];
    }),
  }));
  const title = "Acquire and release inside the store";
  mkdirSync("bench/results", { recursive: true });
  writeFileSync(
    path,
    lineChart({ title, xLabel: "targets of one revision", yLabel: "us", series }),
  );
  report.plot(path);
}
