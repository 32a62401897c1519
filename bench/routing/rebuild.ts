/** Time until a store that lost everything has all targets again, by the reports of their sidecars. */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { configure, openStore, reportFleet } from "./bench.ts";
import type { RoutingBench } from "./bench.ts";
import { median, spread } from "./statistics.ts";

const LIMITS = new Map([
  [10_000, { must: "<= 2", goal: "<= 1" }],
  [50_000, { must: "<= 10", goal: "<= 5" }],
]);

export async function measureRebuild(bench: RoutingBench): Promise<void> {
  for (const [targets, limits] of LIMITS) {
    const seconds: number[] = [];
    for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) {
      seconds.push(await rebuild(bench, targets));
    }
    const id = `routing.rebuild.${targets}`;
    const n = seconds.length;
    bench.report.row({
      id,
      value: median(seconds),
      unit: "s",
      n,
      spread: spread(seconds),
      ...limits,
    });
  }
}

/** Two activators pass the reports on, each those of its half of the pods. */
async function rebuild(bench: RoutingBench, targets: number): Promise<number> {
  const revision: RevisionKey = "bench/lost";
  const other = openStore(bench.server, "other");
  await other.ready();
  await bench.server.admin.flushall();
  const startedAt = performance.now();
  await configure(bench, revision);
  const half = Math.floor(targets / 2);
  const fleet = { revision, capacity: 1 };
  await Promise.all([
    reportFleet(bench.store, { ...fleet, targets: half }),
    reportFleet(other, { ...fleet, from: half, targets: targets - half }),
  ]);
  const seconds = (performance.now() - startedAt) / 1_000;
  const figures = await bench.store.store.readFigures(revision, { record: false });
  await other.close();
  // Nobody sends heartbeats here: on a slow machine the first ones are doubted before the last came.
  const usable = figures.targetsByState.ready + figures.targetsByState.suspected;
  if (usable !== targets) {
    throw new Error(`${usable} of ${targets} targets came back`);
  }
  return seconds;
}
