/**
 * The activator beside stock's: ours with its two store calls per request and 10,000 targets of
 * which nine in ten are busy, stock's whole handler chain with 10,000 free ones and no store, and
 * nginx as a plain proxy, all in front of the same upstream; and ours as several processes that
 * share one port.
 */
import type { RoutingStore } from "../../store/types.ts";
import { ActivatorBench, HOST, REVISION } from "../../test/support/activator-bench.ts";
import { startValkey } from "../../test/support/valkey.ts";
import { keepAlive, openStore, PREFIX, reportFleet } from "../routing/bench.ts";
import { type LoadResult, runWrk } from "./load.ts";
import { peerKinds } from "./peers.ts";
import { LOAD_CORE, type Measured, pinTo, startMeasured } from "./processes.ts";
import { median } from "./ratios.ts";
import type { Tool, Tools } from "./tools.ts";

export const ACTIVATOR_PEERS = ["ours", "stock", "stock-first", "nginx"] as const;
export type ActivatorPeer = (typeof ACTIVATOR_PEERS)[number];
export const PROCESS_COUNTS = [1, 2, 4] as const;

export interface ActivatorResult extends LoadResult {
  readonly connections: number;
  readonly cpuUs: number;
}

export interface ActivatorRound {
  readonly peers: ReadonlyMap<ActivatorPeer, readonly ActivatorResult[]>;
  /** On-CPU time per request over all processes, by how many there are. */
  readonly processes: ReadonlyMap<number, number>;
}

export interface ActivatorPlan {
  readonly tools: Tools;
  readonly upstreamPort: number;
  readonly seconds: number;
  readonly rounds: number;
}

export const ACTIVATOR_CONNECTIONS = [16, 64] as const;
const TARGETS = 10_000;
const BUSY = 9_000;
const STOCK_PORT = 8_580;
const STOCK_FIRST_PORT = 8_581;
const PORT = 8_500;
/** A shared one and one of each process; sets of different size live at the same time. */
const PORTS_PER_SET = 8;
const CORE = 0;
/** Per process: the time of a request falls by a third between the first 20,000 and 100,000. */
const WARM_UP_REQUESTS = 120_000;
const MAX_WARM_UPS = 30;
const CONNECTIONS_PER_PROCESS = 16;
/** The load generator takes whole seconds. */
const BURST_SECONDS = 1;
const BURSTS_PER_SECOND = 3;
const CALLS_AT_ONCE = 64;
const RENEW_EVERY_MS = 1_000;
/** Who holds the busy targets. */
const OTHER = "other-activator";
const STOCK_HEADERS = [
  "Knative-Serving-Namespace: default",
  "Knative-Serving-Revision: echo-00001",
];

/** A running peer; several processes count as one. */
interface Running {
  readonly url: string;
  readonly headers: readonly string[];
  cpuMs(): number;
  stop(): Promise<void>;
}

/** The store with its targets, and whoever keeps them alive. */
interface Fleet {
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * Whoever is compared is started and warmed up once, and then takes turns in short bursts: on a
 * shared machine what lies minutes apart says more about the machine. Adds each round as it is
 * played, so that a run that is cut short still says something.
 */
export async function measureActivators(
  plan: ActivatorPlan,
  rounds: ActivatorRound[],
): Promise<void> {
  const fleet = await openFleet(plan.upstreamPort);
  const peers = new Map<ActivatorPeer, Running>();
  try {
    for (const name of ACTIVATOR_PEERS) {
      console.error(`activators, ${name}: start and warm-up`);
      const running = await startPeer(name, plan, fleet);
      if (running === undefined) continue;
      peers.set(name, running);
      await warmUp(plan, running);
    }
    for (let turn = 0; turn < plan.rounds; turn += 1) {
      console.error(`activators, round ${turn + 1} of ${plan.rounds}`);
      rounds.push({ peers: await playPeers(plan, peers), processes: new Map() });
    }
  } finally {
    await stopAll(peers.values(), fleet);
  }
}

async function playPeers(
  plan: ActivatorPlan,
  peers: ReadonlyMap<ActivatorPeer, Running>,
): Promise<ActivatorRound["peers"]> {
  const results = new Map<ActivatorPeer, ActivatorResult[]>();
  for (const connections of ACTIVATOR_CONNECTIONS) {
    const played = await playBursts(plan, peers, () => connections);
    for (const [name, result] of played) {
      results.set(name, [...(results.get(name) ?? []), result]);
    }
  }
  return results;
}

/** The same for ours alone, as one, two and four processes on one port. */
export async function measureProcesses(
  plan: ActivatorPlan,
  rounds: ActivatorRound[],
): Promise<void> {
  const fleet = await openFleet(plan.upstreamPort);
  const sets = new Map<number, Running>();
  try {
    for (const count of PROCESS_COUNTS) {
      console.error(`activators, ${count} on one port: start and warm-up`);
      const running = await startOurs(fleet, count);
      sets.set(count, running);
      await warmUp(plan, running, count);
    }
    for (let turn = 0; turn < plan.rounds; turn += 1) {
      console.error(`activators that share a port, round ${turn + 1} of ${plan.rounds}`);
      const played = await playBursts(plan, sets, (count) => CONNECTIONS_PER_PROCESS * count);
      const processes = new Map([...played].map(([count, { cpuUs }]) => [count, cpuUs]));
      rounds.push({ peers: new Map(), processes });
    }
  } finally {
    await stopAll(sets.values(), fleet);
  }
}

async function stopAll(all: Iterable<Running>, fleet: Fleet): Promise<void> {
  for (const running of all) await running.stop();
  await fleet.close();
}

/** One burst of each after the other, forth and back, so often as makes up the wanted time. */
async function playBursts<Name>(
  plan: ActivatorPlan,
  all: ReadonlyMap<Name, Running>,
  connectionsOf: (name: Name) => number,
): Promise<Map<Name, ActivatorResult>> {
  const bursts = new Map<Name, ActivatorResult[]>();
  for (let burst = 0; burst < plan.seconds * BURSTS_PER_SECOND; burst += 1) {
    for (const [name, running] of burst % 2 === 0 ? [...all] : [...all].toReversed()) {
      const result = await measure(plan, running, connectionsOf(name));
      bursts.set(name, [...(bursts.get(name) ?? []), result]);
    }
  }
  return new Map([...bursts].map(([name, results]) => [name, joinBursts(results)]));
}

/** On-CPU time of all requests of the bursts; latencies are the medians of theirs. */
function joinBursts(bursts: readonly ActivatorResult[]): ActivatorResult {
  const [first] = bursts;
  if (first === undefined) throw new Error("no burst was played");
  const sum = (pick: (result: ActivatorResult) => number): number =>
    bursts.reduce((total, result) => total + pick(result), 0);
  const requests = sum((result) => result.requests);
  return {
    connections: first.connections,
    requests,
    rps: sum(({ rps }) => rps) / bursts.length,
    errors: sum(({ errors }) => errors),
    p50Us: median(bursts.map(({ p50Us }) => p50Us)),
    p90Us: median(bursts.map(({ p90Us }) => p90Us)),
    p99Us: median(bursts.map(({ p99Us }) => p99Us)),
    cpuUs: sum((result) => result.cpuUs * result.requests) / requests,
  };
}

async function openFleet(upstreamPort: number): Promise<Fleet> {
  const undo: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const server = await startValkey();
    undo.push(() => server.stop());
    pinTo(LOAD_CORE, server.pid);
    const rig = new ActivatorBench(server.url, PREFIX);
    undo.push(() => rig.close());
    await rig.configure({ queueDepth: 10_000, timeoutMs: 300_000 });
    const store = openStore(server, OTHER);
    undo.push(() => store.close());
    await store.ready();
    const address = { address: "127.0.0.1", port: upstreamPort };
    const fleet = { revision: REVISION, targets: TARGETS, capacity: 1, ...address };
    await reportFleet(store, fleet);
    undo.push(keepAlive(store, fleet));
    await occupy(store.store);
    const renewing = setInterval(
      () => void store.store.renewActivator(REVISION, OTHER).catch(() => undefined),
      RENEW_EVERY_MS,
    );
    undo.push(() => clearInterval(renewing));
    return { environment: { ...rig.environment, PILOTLIGHT_LOG_LEVEL: "error" }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Leases of another activator on nine targets of ten. */
async function occupy(store: RoutingStore): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < BUSY) {
      next += 1;
      await store.acquireLease({
        revision: REVISION,
        activatorId: OTHER,
        leaseId: `busy-${next}`,
        exclude: [],
        arrivedAt: 0,
        mayWait: false,
        random: [0.3, 0.7],
      });
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, lane));
}

/** Undefined for a peer that is not on this machine. */
async function startPeer(
  name: ActivatorPeer,
  plan: ActivatorPlan,
  fleet: Fleet,
): Promise<Running | undefined> {
  switch (name) {
    case "ours":
      return startOurs(fleet, 1);
    case "stock":
      return startStock(plan, { concurrency: 10, port: STOCK_PORT });
    case "stock-first":
      return startStock(plan, { concurrency: 1, port: STOCK_FIRST_PORT });
    case "nginx":
      return startNginx(plan);
  }
}

/** So many processes on one port. */
async function startOurs(fleet: Fleet, count: number): Promise<Running> {
  const shared = PORT + PORTS_PER_SET * count;
  const processes: Measured[] = [];
  for (let i = 0; i < count; i += 1) {
    const port = shared + 1 + i;
    processes.push(
      await startMeasured({
        command: process.execPath,
        args: [new URL("../../activator/main.ts", import.meta.url).pathname],
        env: {
          ...fleet.environment,
          PILOTLIGHT_ACTIVATOR_ID: `bench-${count}-${i}`,
          PILOTLIGHT_LISTEN: `127.0.0.1:${port}`,
          PILOTLIGHT_SHARED_LISTEN: `127.0.0.1:${shared}`,
        },
        host: "127.0.0.1",
        port,
        core: CORE,
      }),
    );
  }
  return {
    url: `http://127.0.0.1:${shared}/`,
    headers: [`Host: ${HOST}`],
    cpuMs: () => processes.reduce((sum, measured) => sum + measured.cpuMs(), 0),
    stop: async () => {
      for (const measured of processes) await measured.stop();
    },
  };
}

async function startStock(
  plan: ActivatorPlan,
  { concurrency, port }: { readonly concurrency: number; readonly port: number },
): Promise<Running | undefined> {
  const program: Tool = plan.tools.stockActivator;
  if ("why" in program) return undefined;
  const measured = await startMeasured({
    command: program.path,
    args: [
      `-listen=127.0.0.1:${port}`,
      `-upstream=127.0.0.1:${plan.upstreamPort}`,
      `-targets=${TARGETS}`,
      `-concurrency=${concurrency}`,
    ],
    env: { GOMAXPROCS: "1" },
    host: "127.0.0.1",
    port,
    core: CORE,
  });
  return { ...measured, url: `http://127.0.0.1:${port}/`, headers: STOCK_HEADERS };
}

async function startNginx({ tools, upstreamPort }: ActivatorPlan): Promise<Running | undefined> {
  const kind = peerKinds(tools).find(({ name }) => name === "nginx");
  if (kind === undefined || kind.why !== undefined) return undefined;
  const peer = await kind.start({ upstreamPort, concurrency: 0 });
  return { ...peer, url: `http://${peer.host}:${peer.port}/`, headers: STOCK_HEADERS };
}

async function measure(
  { tools }: ActivatorPlan,
  running: Running,
  connections: number,
): Promise<ActivatorResult> {
  const { url, headers } = running;
  const before = running.cpuMs();
  const result = await runWrk(tools.wrk, { url, headers, connections, seconds: BURST_SECONDS });
  const cpuUs = ((running.cpuMs() - before) * 1_000) / result.requests;
  return { ...result, connections, cpuUs };
}

/** Each process must have run its code often enough for the compiler. */
async function warmUp(
  { tools }: ActivatorPlan,
  { url, headers }: Running,
  processes = 1,
): Promise<void> {
  const connections = CONNECTIONS_PER_PROCESS * processes;
  const wanted = WARM_UP_REQUESTS * processes;
  let requests = 0;
  for (let i = 0; i < MAX_WARM_UPS * processes && requests < wanted; i += 1) {
    // The first seconds may pass before it knows the revision.
    const run = runWrk(tools.wrk, { url, headers, connections, seconds: 1 });
    requests += await run.then((result) => result.requests).catch(() => 0);
  }
}
