/**
 * The parts of one activator put together around a store, and its two moments: opening the ports,
 * and draining. Knows neither environment nor signals, so that tests run the real thing.
 */
import { randomBytes, randomInt } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../common/clock.ts";
import { createRandom } from "../common/random.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import { createFront } from "../proxy/front.ts";
import type { SocketFront } from "../proxy/front.ts";
import type { Exchange, FrontOptions } from "../proxy/types.ts";
import { createUpstream } from "../proxy/upstream.ts";
import type { Upstream } from "../proxy/upstream.ts";
import type { RunStore } from "../store/run-types.ts";
import type { RoutingStore, StoreSubscriber } from "../store/types.ts";
import type { ActivatorCells } from "./cells.ts";
import type { ActivatorConfig } from "./config.ts";
import type { NameRevision } from "./core/name-revision.ts";
import { DegradedMode } from "./degraded.ts";
import { dispatchParts } from "./dispatch-options.ts";
import { drainActivator } from "./drain.ts";
import { createEntrance } from "./entrance.ts";
import { Hold } from "./hold.ts";
import { InternalTls } from "./internal-tls.ts";
import { Keeper } from "./keeper.ts";
import type { Observing } from "./observing.ts";
import type { PodIdentity } from "./pod-identity.ts";
import { probeTarget } from "./probe-target.ts";
import { PushIntake } from "./push-intake.ts";
import { buildPushServer } from "./push-side.ts";
import { createRankingParts, followSteals } from "./ranking-parts.ts";
import type { RankingOptions, RankingParts } from "./ranking-parts.ts";
import { Returns } from "./returns.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import { Revisions } from "./revisions.ts";
import { createRuns } from "./runs/runs.ts";
import type { Runs } from "./runs/runs.ts";
import { StockAutoscaler } from "./stock-autoscaler.ts";

/** Longer than the idle time of the usual ingresses (Envoy: 60 s), so that they close first. */
const CLIENT_KEEP_ALIVE_MS = 75_000;
const HEAD_TIMEOUT_MS = 30_000;
/** Below the sidecar's 120 s, or what it announces; a container's 5 s never shows here. */
const UPSTREAM_IDLE_MS = 60_000;
const MAX_IDLE_PER_TARGET = 100;

export interface ActivatorOptions {
  readonly config: ActivatorConfig;
  readonly store: RoutingStore;
  readonly subscriber: StoreSubscriber;
  /** Absent: asynchronous calls and webhooks are not offered. */
  readonly runStore?: RunStore;
  /** Traces and the request log; absent: neither. */
  readonly observing?: Observing;
  /** Absent: calls are served by arrival alone, whatever they say of workflows. */
  readonly ranking?: RankingOptions;
  /** Absent: this platform has one cell. */
  readonly cells?: ActivatorCells | undefined;
  readonly identity: PodIdentity;
  readonly nameRevision: (random: Random) => NameRevision;
  /** Whether some route still leads to a revision; absent: as far as is known here, yes. */
  readonly isRouted?: (revision: RevisionKey) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Listening {
  /** Base URL of the data port of this process alone. */
  readonly dataUrl: string;
  /** `host:port` of the push side. */
  readonly push: string;
  /** `host:port` for other cells, where there are any. */
  readonly peer?: string;
}

export interface Activator {
  open(): Promise<Listening>;
  /** Stops accepting, serves what waits and runs, gives everything back, closes. */
  drain(): Promise<void>;
}

/** What the parts of an activator share; `drain.ts` ends them in order. */
export interface ActivatorParts {
  readonly options: ActivatorOptions;
  readonly revisions: Revisions;
  readonly returns: Returns;
  readonly hold: Hold;
  readonly keeper: Keeper;
  readonly intake: PushIntake;
  readonly degraded: DegradedMode;
  readonly front: SocketFront;
  readonly internalTls: InternalTls | null;
  readonly upstream: Upstream;
  readonly upgraded: Set<Exchange>;
  readonly runs: Runs | null;
  readonly ranking: RankingParts | null;
  readonly pushServer: FastifyInstance;
  readonly health: Health;
  readonly stockAutoscaler: StockAutoscaler | null;
}

/** Why this process takes no traffic; empty while it does. */
export interface Health {
  stopping: string;
}

export async function createActivator(options: ActivatorOptions): Promise<Activator> {
  const parts = await buildParts(options);
  listenToStore(parts);
  return { open: () => open(parts), drain: () => drainActivator(parts) };
}

async function buildParts(options: ActivatorOptions): Promise<ActivatorParts> {
  const random = createRandom(randomInt(2 ** 32));
  const routing = buildRouting(options, random);
  const upgraded = new Set<Exchange>();
  const health: Health = { stopping: "" };
  const unhealthy = (): string => health.stopping;
  const stockAutoscaler = createStockAutoscaler(options, random);
  const internalTls = createInternalTls(options);
  const upstream = createUpstream({
    idleMs: UPSTREAM_IDLE_MS,
    maxIdlePerHost: MAX_IDLE_PER_TARGET,
  });
  const made = { ...routing, upgraded, internalTls, stockAutoscaler };
  const parts = dispatchParts(options, made);
  const { revisions } = routing;
  const runs = createRuns(options, { parts, upstream, random, revisions });
  const entrance = createEntrance({
    parts,
    revisions,
    nameRevision: options.nameRevision(random),
    unhealthy,
    runDesk: runs?.desk ?? null,
  });
  const limits = frontOptions(options.config);
  const front = createFront(limits, entrance, upstream);
  options.cells?.join({ ...routing, parts, front: limits, upstream, unhealthy });
  const shown = { ...routing, entrance: entrance.counters };
  const pushServer = await buildPushServer(options, health, shown);
  return { options, ...made, front, upstream, runs, pushServer, health };
}

function createInternalTls({ config, logger }: ActivatorOptions): InternalTls | null {
  return config.internalTls === null ? null : new InternalTls({ ...config.internalTls, logger });
}

function createStockAutoscaler(
  { config, clock, logger }: ActivatorOptions,
  random: Random,
): StockAutoscaler | null {
  const { stockAutoscalerUrl: url, podName } = config;
  return url === "" ? null : new StockAutoscaler({ url, podName, clock, random, logger });
}

/** What knows the store. */
type Routing = Pick<
  ActivatorParts,
  "revisions" | "returns" | "hold" | "intake" | "keeper" | "degraded" | "ranking"
>;

function buildRouting(options: ActivatorOptions, random: Random): Routing {
  const { config, store, clock, logger, identity } = options;
  const { activatorId } = config;
  const isRouted = options.isRouted ?? ((): boolean => true);
  const revisions = new Revisions({ store, activatorId, clock, logger, isRouted });
  const degraded = new DegradedMode({ clock, podsOf: (entry) => intake.podsOf(entry) });
  const ranking = rankingOf(options, degraded);
  const { log: callLog = null } = ranking ?? {};
  // In local mode the kernel spreads connections over all activators.
  const entersAnywhere = config.runFolder !== "";
  const pushed = { store, revisions, identity, degraded, clock, logger, callLog };
  const intake = new PushIntake({ ...pushed, entersAnywhere });
  const returns = new Returns(store, degraded, logger);
  const hold = new Hold({
    store,
    returns,
    degraded,
    activatorId,
    clock,
    random,
    nextLeaseId: leaseIds(),
    load: (entry) => void revisions.load(entry),
  });
  degraded.onFree((entry) => hold.serveLocally(entry));
  const keeper = new Keeper({
    store,
    revisions,
    hold,
    intake,
    returns,
    degraded,
    activatorId,
    clock,
    logger,
    probe: probeTarget,
  });
  return { revisions, returns, hold, intake, keeper, degraded, ranking };
}

function rankingOf(options: ActivatorOptions, degraded: DegradedMode): RankingParts | null {
  const { ranking, config, clock, logger } = options;
  if (ranking === undefined) return null;
  const isDegraded = (entry: RevisionEntry): boolean => degraded.has(entry);
  return createRankingParts(ranking, { config, clock, logger, isDegraded });
}

/** Unique for ever: 72 random bits per life of a process, then a count. */
function leaseIds(): () => string {
  const life = randomBytes(9).toString("base64url");
  let count = 0;
  return () => {
    count += 1;
    return `${life}-${count.toString(36)}`;
  };
}

function frontOptions(config: ActivatorConfig): FrontOptions {
  const { maxHeadBytes, maxConnections, replayBytes, proxyFront } = config;
  return {
    form: proxyFront,
    maxHeadBytes,
    maxConnections,
    replayBytes,
    headTimeoutMs: HEAD_TIMEOUT_MS,
    keepAliveMs: CLIENT_KEEP_ALIVE_MS,
  };
}

function listenToStore(parts: ActivatorParts): void {
  const { hold, revisions, keeper, options } = parts;
  const { subscriber } = options;
  revisions.onConfigured((entry) => hold.configured(entry));
  revisions.onRemoved((entry) => hold.removed(entry));
  subscriber.onAssignment((assignment) => {
    hold.assigned(revisions.use(assignment.revision), assignment);
  });
  if (parts.ranking !== null) followSteals(subscriber, revisions, parts.internalTls);
  subscriber.onConfig((revision) => void revisions.reread(revision));
  subscriber.onResubscribed(() => void keeper.recover());
}

async function open(parts: ActivatorParts): Promise<Listening> {
  const { front, pushServer, keeper, intake, stockAutoscaler, options } = parts;
  const { config } = options;
  keeper.start();
  intake.heartbeats.start();
  parts.runs?.start();
  stockAutoscaler?.start();
  const { address, port } = await front.listen(config.listen);
  if (config.h2cListen !== null) await front.listen(config.h2cListen);
  if (config.sharedListen !== null) {
    await front.listen({ ...config.sharedListen, reusePort: true });
  }
  await parts.internalTls?.open(front);
  await pushServer.listen(config.pushListen);
  const peer = await options.cells?.open();
  // A listening TCP server has an address object; a string is for pipes only.
  const push = pushServer.server.address() as AddressInfo;
  return {
    dataUrl: `http://${hostPort(address, port)}`,
    push: hostPort(push.address, push.port),
    ...(peer === undefined ? {} : { peer }),
  };
}

function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
