/**
 * The command connection: reconnects for ever, never keeps commands for later, and sorts errors
 * into "try again within the deadline" and the rest. What was sent when a connection broke may or
 * may not have run; all scripts are idempotent, so it is simply sent again by the caller.
 */
import { Redis } from "ioredis";
import type { RedisOptions } from "ioredis";
import { PlatformError, errorText } from "../common/errors.ts";
import type { Random } from "../common/random.ts";

/** What the store needs of a logger; the one in `foundation/` fits. */
export interface StoreLogger {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface ClientOptions {
  /** `redis://[user:password@]host:port[/db]`, `rediss://` for TLS. */
  readonly url: string;
  /** Jitter between reconnects. */
  readonly random: Random;
  readonly logger?: StoreLogger | undefined;
  /** Longest wait of one call for the store, reconnects included. */
  readonly timeoutMs: number;
}

const FIRST_RETRY_MS = 20;
const LONGEST_RETRY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 2_000;

type ConnectionOptions = Omit<RedisOptions, "replyMapping">;

export function connectionOptions(options: ClientOptions, name: string): ConnectionOptions {
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

/** Grows from 20 ms to 1 s, plus up to half of it by chance. */
export function retryDelayMs(times: number, random: Random): number {
  const base = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(times - 1, 10));
  return Math.round(base * (1 + random() / 2));
}

export function createClient(options: ClientOptions): Redis {
  const client = new Redis(options.url, {
    ...connectionOptions(options, "commands"),
    commandTimeout: options.timeoutMs,
    // A command kept for later would run when nobody waits for it any more.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Those on their way when the connection breaks fail at once.
    maxRetriesPerRequest: 0,
  });
  logConnection(client, options.logger, "commands");
  return client;
}

/** One line per change, not one per failed attempt. */
export function logConnection(client: Redis, logger: StoreLogger | undefined, name: string): void {
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

export function unavailable(why: string, cause?: unknown): PlatformError {
  return new PlatformError(
    "ERR_STORE_UNAVAILABLE",
    `The store cannot be reached: ${why}; check that Valkey runs and that the address is right`,
    { cause },
  );
}

/** Wrong node, still loading, busy with a script, or cut off: the same call may succeed soon. */
const RETRY_PREFIXES = [
  "READONLY",
  "LOADING",
  "MASTERDOWN",
  "CLUSTERDOWN",
  "TRYAGAIN",
  "BUSY",
  "NOREPLICAS",
  "UNBLOCKED",
  "Connection is closed",
  "Command timed out",
  "Stream isn't writeable",
  "Reached the max retries per request limit",
  "Command aborted",
];
const RETRY_CODES = new Set(["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "ENOTFOUND"]);

export function isRetriable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string" && RETRY_CODES.has(code)) return true;
  const text = errorText(error);
  return RETRY_PREFIXES.some((prefix) => text.startsWith(prefix));
}

export function isFunctionMissing(error: unknown): boolean {
  return errorText(error).includes("Function not found");
}
