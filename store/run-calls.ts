/**
 * The store of asynchronous runs over Valkey, on a connection of its own: waiting for a replica
 * and large bodies never stand in front of a choice of a target.
 */
import type { RunRecord, RunSecrets, ServiceKey } from "../common/contracts/async-runs.ts";
import { createRandom } from "../common/random.ts";
import { parseRun } from "./bindings/run-record.ts";
import {
  acceptRun,
  claimRuns,
  finishRun,
  returnRun,
  settleRun,
  startRun,
  withdrawRun,
} from "./bindings/runs.ts";
import { closeClient, createClient, unavailable } from "./client.ts";
import type { StoreLogger } from "./client.ts";
import { LOST_RUNS, createKeys } from "./keys.ts";
import type { Keys } from "./keys.ts";
import { loadScripts } from "./load-scripts.ts";
import { createScriptCaller } from "./script-caller.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type { AcceptRun, RunStore } from "./run-types.ts";

export interface RunStoreOptions {
  /** As for the routing state; may be a server of its own. */
  readonly url: string;
  readonly prefix: string;
  readonly logger?: StoreLogger | undefined;
  /** Replicas that must have a run before it is accepted; 0 where the server's own file is enough. */
  readonly replicas: number;
  /** Time of all scripts in us, for tests. */
  readonly testTime?: () => number;
}

const TIMEOUT_MS = 2_000;
/** A replica acknowledges in a millisecond; one that does not for so long is away. */
const REPLICA_WAIT_MS = 1_000;

export function createRunStore(options: RunStoreOptions): RunStore {
  const { url, prefix, logger, replicas, testTime } = options;
  const keys = createKeys(prefix);
  const clientOptions = { url, random: createRandom(process.pid), logger, timeoutMs: TIMEOUT_MS };
  const client = createClient(clientOptions);
  const library = loadScripts();
  const caller = createScriptCaller({ client, keys, library, testTime, options: clientOptions });
  return {
    ...changes(caller, keys, replicas),
    ...readings(caller, keys),
    ...losses(caller, keys),
    services: async () => {
      const members = await caller.command((connection) => connection.smembers(keys.runServices));
      return members as ServiceKey[];
    },
    forgetService: async (service) => {
      await caller.command((connection) => connection.srem(keys.runServices, service));
    },
    close: () => closeClient(client),
  };
}

type Changes = Pick<RunStore, "accept" | "start" | "giveBack" | "finish" | "settle" | "claim">;

function changes(caller: ScriptCaller, keys: Keys, replicas: number): Changes {
  return {
    accept: async (service, run) => {
      // Named first: a service without runs is taken off the list by the next beat.
      await caller.command((connection) => connection.sadd(keys.runServices, service));
      const result = await caller.call(acceptRun, service, run);
      if (result.kind === "accepted" && replicas > 0) {
        await untilReplicated({ caller, keys, replicas }, service, run);
      }
      return result;
    },
    start: (service, run) => caller.call(startRun, service, run),
    giveBack: (service, run) => caller.call(returnRun, service, run),
    finish: (service, run) => caller.call(finishRun, service, run),
    settle: (service, run) => caller.call(settleRun, service, run),
    claim: (service, beat) => caller.call(claimRuns, service, beat),
  };
}

interface Replication {
  readonly caller: ScriptCaller;
  readonly keys: Keys;
  readonly replicas: number;
}

async function untilReplicated(
  { caller, keys, replicas }: Replication,
  service: ServiceKey,
  run: AcceptRun,
): Promise<void> {
  const key = keys.one(service, "run-counts");
  // With a key in front, the wait goes to the node that has the run, in a cluster too.
  const replies = await caller.command((connection) =>
    connection.pipeline().exists(key).wait(replicas, REPLICA_WAIT_MS).exec(),
  );
  if (Number(replies?.[1]?.[1] ?? 0) >= replicas) return;
  await caller.call(withdrawRun, service, run);
  throw unavailable(`fewer than ${replicas} replicas of the store answer`);
}

type Losses = Pick<RunStore, "known" | "noteLost" | "isLost">;

function losses(caller: ScriptCaller, keys: Keys): Losses {
  return {
    known: async (service, ids) => {
      if (ids.length === 0) return [];
      const key = keys.one(service, "run-states");
      const states = await caller.command((connection) => connection.hmget(key, ...ids));
      return states.map((state) => state !== null);
    },
    noteLost: async (service, ids, keptMs) => {
      if (ids.length === 0) return;
      const key = keys.one(service, LOST_RUNS);
      const fields = ids.flatMap((id) => [id, "1"]);
      await caller.command((connection) =>
        connection
          .pipeline()
          .hset(key, ...fields)
          .pexpire(key, keptMs)
          .exec(),
      );
    },
    isLost: async (service, id) => {
      const key = keys.one(service, LOST_RUNS);
      return (await caller.command((connection) => connection.hexists(key, id))) === 1;
    },
  };
}

type Readings = Pick<RunStore, "read" | "readPayload" | "readSecrets" | "list">;

function readings(caller: ScriptCaller, keys: Keys): Readings {
  const field = async (
    service: ServiceKey,
    name: "run-payloads" | "run-secrets",
    id: string,
  ): Promise<string> => {
    const key = keys.one(service, name);
    return (await caller.command((connection) => connection.hget(key, id))) ?? "";
  };
  const readAll = async (service: ServiceKey, ids: readonly string[]): Promise<RunRecord[]> => {
    if (ids.length === 0) return [];
    const replies = await caller.command((connection) =>
      connection
        .pipeline()
        .hmget(keys.one(service, "run-states"), ...ids)
        .hmget(keys.one(service, "run-requests"), ...ids)
        .exec(),
    );
    const [states, requests] = (replies ?? []).map(([, value]) => value as (string | null)[]);
    return ids.flatMap((id, index) => {
      const state = states?.[index] ?? null;
      const request = requests?.[index] ?? null;
      return state === null || request === null ? [] : [parseRun(id, state, request)];
    });
  };
  return {
    read: async (service, id) => (await readAll(service, [id]))[0] ?? null,
    readPayload: async (service, id) =>
      Buffer.from(await field(service, "run-payloads", id), "base64"),
    readSecrets: async (service, id) => {
      const text = await field(service, "run-secrets", id);
      // Written by `accept` from an object of this type.
      return text === "" ? null : (JSON.parse(text) as RunSecrets);
    },
    list: async (service, most) => {
      const key = keys.one(service, "run-accepted");
      const ids = await caller.command((connection) => connection.zrevrange(key, 0, most - 1));
      return readAll(service, ids);
    },
  };
}
