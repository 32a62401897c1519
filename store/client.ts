/**
 * Connections to the store: one server, the primary that Sentinels name, or a cluster. They
 * reconnect for ever and never keep commands for later. What was sent when a connection broke may
 * or may not have run; all scripts are idempotent, so it is simply sent again by the caller.
 */
import { Cluster, Redis } from "ioredis";
import type { RedisOptions } from "ioredis";
import type { Random } from "../common/random.ts";
import { parseStoreUrl } from "./address.ts";
import type { StoreAddress } from "./address.ts";
import { PlainConnector } from "./plain-connector.ts";
import { QuietSentinels } from "./quiet-sentinels.ts";
import { endWhenSilent } from "./silence-watch.ts";
import { turnConnector } from "./turn-connector.ts";

export { isFunctionMissing, isRetriable, unavailable } from "./store-errors.ts";

/** What the store needs of a logger; the one in `foundation/` fits. */
export interface StoreLogger {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface ClientOptions {
  /** One of the forms in `address.ts`. */
  readonly url: string;
  /** Jitter between reconnects. */
  readonly random: Random;
  readonly logger?: StoreLogger | undefined;
  /** Longest wait of one call for the store, reconnects included. */
  readonly timeoutMs: number;
}

export type StoreClient = Redis | Cluster;

const FIRST_RETRY_MS = 20;
/** A promoted primary must have its clients within 2 s, the last pause included. */
const LONGEST_RETRY_MS = 500;
const CONNECT_TIMEOUT_MS = 2_000;
/** Beyond the time of a call: a connection that answers nothing for so long is given up. */
const SILENCE_MS = 400;
/** A Sentinel that does not answer in this time is passed over for the next one. */
const SENTINEL_TIMEOUT_MS = 500;
/** The map of slots is read again this often, for a primary that fell silent without a word. */
const SLOTS_REFRESH_MS = 1_000;
/** Between two tries of a call whose node is gone. */
const CLUSTER_RETRY_MS = 50;

type ConnectionOptions = Omit<RedisOptions, "replyMapping">;

/** Grows from 20 ms to half a second, plus up to half of it by chance. */
export function retryDelayMs(times: number, random: Random): number {
  const base = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(times - 1, 10));
  return Math.round(base * (1 + random() / 2));
}

/** The connection for commands. */
export function createClient(options: ClientOptions): StoreClient {
  const address = parseStoreUrl(options.url);
  const client = address.kind === "cluster" ? clusterOf(address, options) : plain(address, options);
  keepTrying(client, options.random);
  logConnection(client, options.logger, "commands");
  return client;
}

/** One connection for subscriptions: in a cluster any node will do, each message reaches all. */
export function createSubscriberClient(options: ClientOptions): Redis {
  const address = parseStoreUrl(options.url);
  const settings: ConnectionOptions = {
    ...connectionOptions(options, "subscriber"),
    autoResubscribe: false,
    // Connects with the first listener: who only calls scripts needs one connection.
    lazyConnect: true,
    // Nothing is heard for long in a quiet time; a regular PING proves that the peer is there.
    socketTimeout: options.timeoutMs,
  };
  const client =
    address.kind === "cluster"
      ? new Redis({ ...settings, ...access(address), Connector: turnConnector(address) })
      : single(address, settings, options);
  keepTrying(client, options.random);
  logConnection(client, options.logger, "subscriber");
  return client;
}

/** Clients that were closed on purpose; all others come back. */
const closed = new WeakSet<StoreClient>();

export function closeClient(client: StoreClient): void {
  closed.add(client);
  client.disconnect();
}

export function isClosed(client: StoreClient): boolean {
  return closed.has(client);
}

/**
 * ioredis gives up for good when the primary changes while it asks the Sentinels for it; nothing
 * may need a restart, so it is told to begin anew.
 */
function keepTrying(client: StoreClient, random: Random): void {
  let times = 0;
  client.on("ready", () => (times = 0));
  client.on("end", () => {
    if (isClosed(client)) return;
    times += 1;
    setTimeout(
      () => {
        // A failure ends in the same event.
        if (!isClosed(client)) client.connect().catch(() => undefined);
      },
      retryDelayMs(times, random),
    );
  });
}

/** Servers that take writes, each of which needs the function library. */
export function primariesOf(client: StoreClient): readonly Redis[] {
  return client instanceof Cluster ? client.nodes("master") : [client];
}

/** Run id of the server behind all keys; empty where there is none, as in a cluster. */
export async function readRunId(client: StoreClient): Promise<string> {
  if (client instanceof Cluster) return "";
  return /^run_id:(\w+)/m.exec(await client.info("server"))?.[1] ?? "";
}

function connectionOptions(options: ClientOptions, name: string): ConnectionOptions {
  return {
    connectionName: `pilotlight-${name}`,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (times) => retryDelayMs(times, options.random),
    // The role of a server behind a fixed address may change: connect anew to find the primary.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
    // Measured: 0.4 to 0.6 times the throughput and p99 4 to 10 times worse when on.
    enableAutoPipelining: false,
  };
}

function plain(address: Exclude<StoreAddress, { kind: "cluster" }>, options: ClientOptions): Redis {
  const settings: ConnectionOptions = {
    ...connectionOptions(options, "commands"),
    commandTimeout: options.timeoutMs,
    // A command kept for later would run when nobody waits for it any more.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Those on their way when the connection breaks fail at once.
    maxRetriesPerRequest: 0,
  };
  const client = single(address, settings, options);
  endWhenSilent(client, options.timeoutMs + SILENCE_MS);
  return client;
}

function single(
  address: Exclude<StoreAddress, { kind: "cluster" }>,
  settings: ConnectionOptions,
  options: ClientOptions,
): Redis {
  if (address.kind === "single") return new Redis(address.url, readingPlainly(address, settings));
  return new Redis({
    ...settings,
    ...access(address),
    // The Sentinels have an option of their own for it.
    ...(address.tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    sentinels: [...address.sentinels],
    Connector: QuietSentinels,
    name: address.name,
    // Hears of a promotion from the Sentinels, also while the old primary only hangs.
    failoverDetector: true,
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    sentinelRetryStrategy: (times) => retryDelayMs(times, options.random),
    sentinelReconnectStrategy: (times) => retryDelayMs(times, options.random),
    updateSentinels: true,
  });
}

/** Replies are read cheaply where they come over plain TCP. */
function readingPlainly(
  { url }: Extract<StoreAddress, { kind: "single" }>,
  settings: ConnectionOptions,
): ConnectionOptions {
  return url.startsWith("rediss:") ? settings : { ...settings, Connector: PlainConnector };
}

function clusterOf(
  address: Extract<StoreAddress, { kind: "cluster" }>,
  options: ClientOptions,
): Cluster {
  const cluster = new Cluster([...address.nodes], {
    clusterRetryStrategy: (times) => retryDelayMs(times, options.random),
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    retryDelayOnFailover: CLUSTER_RETRY_MS,
    retryDelayOnClusterDown: CLUSTER_RETRY_MS,
    retryDelayOnTryAgain: CLUSTER_RETRY_MS,
    // The caller's patience decides, not a count.
    maxRedirections: Math.ceil(options.timeoutMs / CLUSTER_RETRY_MS),
    enableAutoPipelining: false,
    redisOptions: {
      ...withoutRetries(connectionOptions(options, "commands")),
      ...access(address),
      ...(address.tls ? {} : { Connector: PlainConnector }),
      commandTimeout: options.timeoutMs,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    },
  });
  cluster.on("+node", (node: Redis) => endWhenSilent(node, options.timeoutMs + SILENCE_MS));
  return cluster;
}

/** A node that is gone leaves the pool; the map of slots says who took over. */
function withoutRetries(settings: ConnectionOptions): Omit<ConnectionOptions, "retryStrategy"> {
  const { retryStrategy: _retry, reconnectOnError: _reconnect, ...rest } = settings;
  return rest;
}

function access(
  address: Exclude<StoreAddress, { kind: "single" }>,
): Pick<ConnectionOptions, "username" | "password" | "tls"> {
  const { username, password, tls } = address;
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
  };
}

/** One line per change, not one per failed attempt. */
function logConnection(client: StoreClient, logger: StoreLogger | undefined, name: string): void {
  let isUp = true;
  client.on("error", (error: Error) => {
    if (isUp) logger?.warn("store connection lost", { connection: name, error });
    isUp = false;
  });
  client.on("ready", () => {
    if (!isUp) logger?.info("store connection is back", { connection: name });
    isUp = true;
  });
}
