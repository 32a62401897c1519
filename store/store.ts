/**
 * The store in domain words: `createStore` connects and returns the routing state as the
 * interface of `types.ts`. Loops over bounded scripts live here, so callers see whole operations.
 */
import { createRandom } from "../common/random.ts";
import type { Random } from "../common/random.ts";
import { createCellCalls } from "./cell-calls.ts";
import type { CellCalls } from "./cell-calls.ts";
import { closeClient, createClient } from "./client.ts";
import type { StoreClient, StoreLogger } from "./client.ts";
import { createKeys } from "./keys.ts";
import { createKnowledgeStore } from "./knowledge.ts";
import type { KnowledgeStore } from "./knowledge.ts";
import { LibraryKeeper } from "./library-keeper.ts";
import type { LibraryTimes } from "./library-keeper.ts";
import { createLeaseCalls } from "./leases.ts";
import type { LeaseCalls } from "./leases.ts";
import { loadScripts } from "./load-scripts.ts";
import type { ScriptLibrary } from "./load-scripts.ts";
import { createRequestCalls } from "./request-calls.ts";
import { createRevisionCalls } from "./revision-calls.ts";
import { createScriptCaller } from "./script-caller.ts";
import { Subscriber } from "./subscriber.ts";
import { createTargetCalls } from "./target-calls.ts";
import { createWorkflowCalls } from "./workflow-calls.ts";
import type { RoutingStore, StoreSubscriber, WorkflowStore } from "./types.ts";

export interface StoreOptions {
  /** `redis://[user:password@]host:port[/db]`, `rediss://` for TLS. */
  readonly url: string;
  /** In front of every key and channel; default `pilotlight:`. */
  readonly prefix?: string;
  /** Whose assignments are subscribed to; needed by `onAssignment`. */
  readonly activatorId?: string;
  readonly logger?: StoreLogger;
  /** Longest wait of one call for the store, reconnects included; default 2 s. */
  readonly timeoutMs?: number;
  /** Time of all scripts in us, for tests; default the server's. */
  readonly testTime?: () => number;
  readonly random?: Random;
  readonly library?: ScriptLibrary;
  /** How long unused libraries stay; default a day. */
  readonly libraryTimes?: LibraryTimes;
}

export interface StoreHandle {
  readonly store: RoutingStore;
  readonly leases: LeaseCalls;
  /** For services of several cells. */
  readonly cells: CellCalls;
  readonly knowledge: KnowledgeStore;
  readonly workflows: WorkflowStore;
  readonly subscriber: StoreSubscriber;
  /** Connected, scripts loaded, subscriptions in place. Rejects after `timeoutMs`. */
  ready(): Promise<void>;
  /** Time of a round trip in ms; rejects when the store cannot be reached. */
  ping(): Promise<number>;
  /** What serves: read from the server itself, so that a fall-back cannot pass for Valkey. */
  server(): Promise<ServerFacts>;
  close(): Promise<void>;
}

export interface ServerFacts {
  readonly name: "valkey" | "redis";
  /** `8.0.1`; empty when the server does not say. */
  readonly version: string;
}

export const DEFAULT_PREFIX = "pilotlight:";
const DEFAULT_TIMEOUT_MS = 2_000;

export function createStore(options: StoreOptions): StoreHandle {
  const { url, logger, testTime, activatorId } = options;
  const keys = createKeys(options.prefix ?? DEFAULT_PREFIX);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  // Only for jitter: a seed per process is enough.
  const random = options.random ?? createRandom(process.pid);
  const clientOptions = { url, random, logger, timeoutMs };

  const client = createClient(clientOptions);
  const library = options.library ?? loadScripts();
  const caller = createScriptCaller({ client, keys, library, testTime, options: clientOptions });
  const libraries = new LibraryKeeper({
    client,
    caller,
    library,
    logger,
    times: options.libraryTimes,
  });
  const subscriber = new Subscriber({ ...clientOptions, keys, activatorId });
  const requests = createRequestCalls(client, caller);

  return {
    store: {
      ...requests.calls,
      ...createTargetCalls(caller),
      ...createRevisionCalls(caller, keys),
    },
    cells: createCellCalls(caller, keys),
    leases: createLeaseCalls(caller, options.prefix ?? DEFAULT_PREFIX),
    knowledge: createKnowledgeStore(caller, keys),
    workflows: createWorkflowCalls(caller, keys),
    subscriber,
    ready: async () => {
      await Promise.all([caller.ready(), subscriber.ready()]);
    },
    ping: async () => {
      const startedAt = performance.now();
      await caller.command((connection) => connection.ping());
      return performance.now() - startedAt;
    },
    server: () => caller.command(readServerFacts),
    close: () => {
      requests.close();
      libraries.close();
      subscriber.close();
      closeClient(client);
      return Promise.resolve();
    },
  };
}

async function readServerFacts(client: StoreClient): Promise<ServerFacts> {
  const info = await client.info("server");
  const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1];
  if (valkey !== undefined) return { name: "valkey", version: valkey };
  return { name: "redis", version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? "" };
}
