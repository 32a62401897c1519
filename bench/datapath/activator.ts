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
const PORT = 8_500;
const CORE = 0;
const WARM_UP_REQUESTS = 40_000;
const MAX_WARM_UPS = 12;
const CONNECTIONS_PER_PROCESS = 16;
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

/** Adds each round as it is played, so that a run that is cut short still says something. */
export async function measureActivators(
  plan: ActivatorPlan,
  rounds: ActivatorRound[],
): Promise<void> {
  for (let turn = 0; turn < plan.rounds; turn += 1) {
    console.error(`activators, round ${turn + 1} of ${plan.rounds}`);
    const order = turn % 2 === 0 ? ACTIVATOR_PEERS : ACTIVATOR_PEERS.toReversed();
    const peers = new Map<ActivatorPeer, readonly ActivatorResult[]>();
    const processes = new Map<number, number>();
    rounds.push({ peers, processes });
    for (const name of order) peers.set(name, await playPeer(name, plan));
    await playProcesses(plan, { isReversed: turn % 2 === 1, times: processes });
  }
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

async function startPeer(name: ActivatorPeer, plan: ActivatorPlan): Promise<Running | undefined> {
  switch (name) {
    case "ours":
      return startOurs(plan, 1);
    case "stock":
      return startStock(plan, 10);
    case "stock-first":
      return startStock(plan, 1);
    case "nginx":
      return startNginx(plan);
  }
}

/** With a store of its own: targets that nobody looked after for a while would be given up. */
async function startOurs({ upstreamPort }: ActivatorPlan, count: number): Promise<Running> {
  const fleet = await openFleet(upstreamPort);
  const processes: Measured[] = [];
  for (let i = 0; i < count; i += 1) {
    const own = `127.0.0.1:${PORT + 1 + i}`;
    processes.push(
      await startMeasured({
        command: process.execPath,
        args: [new URL("../../activator/main.ts", import.meta.url).pathname],
        env: {
          ...fleet.environment,
          PILOTLIGHT_ACTIVATOR_ID: `bench-${i}`,
          PILOTLIGHT_LISTEN: own,
          PILOTLIGHT_SHARED_LISTEN: `127.0.0.1:${PORT}`,
        },
        host: "127.0.0.1",
        port: PORT + 1 + i,
        core: CORE,
      }),
    );
  }
  return {
    url: `http://127.0.0.1:${PORT}/`,
    headers: [`Host: ${HOST}`],
    cpuMs: () => processes.reduce((sum, measured) => sum + measured.cpuMs(), 0),
    stop: async () => {
      for (const measured of processes) await measured.stop();
      await fleet.close();
    },
  };
}

async function startStock(plan: ActivatorPlan, concurrency: number): Promise<Running | undefined> {
  const program: Tool = plan.tools.stockActivator;
  if ("why" in program) return undefined;
  const measured = await startMeasured({
    command: program.path,
    args: [
      `-listen=127.0.0.1:${PORT}`,
      `-upstream=127.0.0.1:${plan.upstreamPort}`,
      `-targets=${TARGETS}`,
      `-concurrency=${concurrency}`,
    ],
    env: { GOMAXPROCS: "1" },
    host: "127.0.0.1",
    port: PORT,
    core: CORE,
  });
  return { ...measured, url: `http://127.0.0.1:${PORT}/`, headers: STOCK_HEADERS };
}

async function startNginx({ tools, upstreamPort }: ActivatorPlan): Promise<Running | undefined> {
  const kind = peerKinds(tools).find(({ name }) => name === "nginx");
  if (kind === undefined || kind.why !== undefined) return undefined;
  const peer = await kind.start({ upstreamPort, concurrency: 0 });
  return { ...peer, url: `http://${peer.host}:${peer.port}/`, headers: STOCK_HEADERS };
}

/** Nothing for a peer that is not on this machine. */
async function playPeer(
  name: ActivatorPeer,
  plan: ActivatorPlan,
): Promise<readonly ActivatorResult[]> {
  const running = await startPeer(name, plan);
  return running === undefined ? [] : play(plan, running);
}

async function play(plan: ActivatorPlan, running: Running): Promise<readonly ActivatorResult[]> {
  try {
    await warmUp(plan, running);
    const results: ActivatorResult[] = [];
    for (const connections of ACTIVATOR_CONNECTIONS) {
      results.push(await measure(plan, running, connections));
    }
    return results;
  } finally {
    await running.stop();
  }
}

async function playProcesses(
  plan: ActivatorPlan,
  { isReversed, times }: { readonly isReversed: boolean; readonly times: Map<number, number> },
): Promise<void> {
  for (const count of isReversed ? PROCESS_COUNTS.toReversed() : PROCESS_COUNTS) {
    const running = await startOurs(plan, count);
    try {
      await warmUp(plan, running, count);
      const { cpuUs } = await measure(plan, running, CONNECTIONS_PER_PROCESS * count);
      times.set(count, cpuUs);
    } finally {
      await running.stop();
    }
  }
}

async function measure(
  { tools, seconds }: ActivatorPlan,
  running: Running,
  connections: number,
): Promise<ActivatorResult> {
  const { url, headers } = running;
  const before = running.cpuMs();
  const result = await runWrk(tools.wrk, { url, headers, connections, seconds });
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
