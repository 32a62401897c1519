/**
 * From the call of a release to the moment in which another activator holds the slot: by hand-over
 * in the script, and by its peer, where the release only notifies and the waiter then acquires.
 * Both take turns on the same server.
 */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { releaseLease } from "../../store/bindings/requests.ts";
import { createKeys } from "../../store/keys.ts";
import { loadScripts } from "../../store/load-scripts.ts";
import type { StoreHandle } from "../../store/store.ts";
import { acquireRequest, pushReport } from "../../test/support/routing.ts";
import { PREFIX, configure, openStore } from "./bench.ts";
import type { RoutingBench } from "./bench.ts";
import { median, quantile, spread } from "./statistics.ts";

const REVISION: RevisionKey = "bench/one";
const WAITER = "waiter";
const CHANNEL = "bench:freed";

/** One slot that goes back and forth. */
interface Stage {
  readonly releaser: StoreHandle;
  readonly waiter: StoreHandle;
  turn: number;
}

export async function measureHandOver(bench: RoutingBench): Promise<void> {
  const stage: Stage = { releaser: bench.store, waiter: openStore(bench.server, WAITER), turn: 0 };
  let heard: () => void = () => undefined;
  stage.waiter.subscriber.onAssignment(() => heard());
  await stage.waiter.ready();
  await configure(bench, REVISION);
  const report = pushReport("only", { revision: REVISION, boot: 1_764_459_734_123 });
  await stage.releaser.store.reportReadiness(report, { card: "", marks: {} });
  const notified = bench.server.admin.duplicate();
  await notified.subscribe(CHANNEL);
  notified.on("message", () => heard());
  await acquire(stage, 0);

  const [ours, peers]: [number[][], number[][]] = [[], []];
  const [rounds, turns] = bench.quick ? [3, 100] : [20, 1_000];
  for (let round = 0; round < rounds; round += 1) {
    const handed = await timesOf(turns, () => handOver(stage, (listen) => (heard = listen)));
    const told = await timesOf(turns, () => notify(bench, stage, (listen) => (heard = listen)));
    ours.push(handed);
    peers.push(told);
  }
  notified.disconnect();
  await stage.waiter.close();
  reportShare(bench, { ours, peers }, 0.5, ["<= 0.5", "<= 0.15"]);
  reportShare(bench, { ours, peers }, 0.99, ["<= 5", "<= 0.5"]);
}

async function timesOf(turns: number, one: () => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) times.push(await one());
  return times;
}

type Listen = (listen: () => void) => void;

function acquire({ waiter }: Stage, turn: number): Promise<unknown> {
  const request = acquireRequest(`h${turn}`, { revision: REVISION, activatorId: WAITER });
  return waiter.store.acquireLease(request);
}

async function handOver(stage: Stage, onHeard: Listen): Promise<number> {
  await acquire(stage, stage.turn + 1);
  const handed = new Promise<void>((resolve) => onHeard(resolve));
  const startedAt = performance.now();
  const released = stage.releaser.store.releaseLease({
    revision: REVISION,
    leaseId: `h${stage.turn}`,
    outcome: "done",
    status: 200,
    serviceMs: 1,
  });
  await handed;
  const ms = performance.now() - startedAt;
  await released;
  stage.turn += 1;
  return ms;
}

const keys = createKeys(PREFIX);
const library = loadScripts();

/** The peer: release and message leave together, the waiter acquires when it hears the message. */
async function notify({ server }: RoutingBench, stage: Stage, onHeard: Listen): Promise<number> {
  const names = keys.list(REVISION, releaseLease.keys);
  const release = { leaseId: `h${stage.turn}`, outcome: "done" };
  const args = releaseLease.encode(release, { keys, now: "0" });
  const told = new Promise<void>((resolve) => onHeard(resolve));
  const startedAt = performance.now();
  const sent = server.admin
    .pipeline()
    .fcall(library.functionName(releaseLease.script), names.length, ...names, ...args)
    .publish(CHANNEL, REVISION)
    .exec();
  await told;
  await acquire(stage, stage.turn + 1);
  const ms = performance.now() - startedAt;
  await sent;
  stage.turn += 1;
  return ms;
}

function reportShare(
  { report }: RoutingBench,
  { ours, peers }: { readonly ours: number[][]; readonly peers: number[][] },
  share: number,
  [must, goal]: readonly [string, string],
): void {
  const name = `p${Math.round(share * 100)}`;
  const own = ours.map((times) => quantile(times, share));
  const other = peers.map((times) => quantile(times, share));
  const ratios = own.map((value, round) => value / (other[round] ?? Number.NaN));
  const n = ours.flat().length;
  const id = `routing.handover.${name}`;
  const value = quantile(ours.flat(), share);
  const peer = { peer: "notify-then-acquire", peerValue: quantile(peers.flat(), share) };
  report.row({ id, value, unit: "ms", n, spread: spread(own), must, goal });
  const ratio = { ratio: median(ratios), spread: spread(ratios) };
  report.row({
    id: `${id}.over_notify`,
    value,
    unit: "ms",
    n,
    ...peer,
    ...ratio,
    must: "<= 0.8",
    goal: "<= 0.6",
  });
}
