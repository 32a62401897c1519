/** Calls about a revision as a whole, and what the autoscaler keeps beside the routing state. */
import type { ColdStartRecord } from "../common/contracts/channels.ts";
import type { RevisionConfig, RevisionKey } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";
import { configureRevision, readFigures, switchEvents } from "./bindings/revisions.ts";
import { CELL_KEYS, ROUTING_KEYS, SIDE_KEYS } from "./keys.ts";
import type { Keys } from "./keys.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type { FiguresSample, RoutingStore, StoreEvent } from "./types.ts";

type RevisionCalls = Pick<
  RoutingStore,
  | "configureRevision"
  | "removeRevision"
  | "readRevision"
  | "readFigures"
  | "readSamples"
  | "readScalerState"
  | "writeScalerState"
  | "readDecisions"
  | "appendDecision"
  | "listRevisions"
  | "recordColdStart"
  | "readColdStarts"
  | "recordEvents"
  | "readEvents"
>;

/** Decisions kept per revision, and for how long after the last one. */
const MOST_DECISIONS = 500;
const DECISIONS_KEPT_MS = 3_600_000;
/** Cold starts kept per revision. */
const MOST_COLD_STARTS = 200;
/** The last of the cells' keys stand under the service, which may have other revisions. */
const ALL_KEYS = [...ROUTING_KEYS, ...SIDE_KEYS, CELL_KEYS[0]];

export function createRevisionCalls(caller: ScriptCaller, keys: Keys): RevisionCalls {
  return {
    ...configurationCalls(caller, keys),
    ...figureCalls(caller, keys),
    ...decisionCalls(caller, keys),
    ...recordCalls(caller, keys),
  };
}

function configurationCalls(
  caller: ScriptCaller,
  keys: Keys,
): Pick<RevisionCalls, "configureRevision" | "removeRevision" | "readRevision" | "listRevisions"> {
  return {
    configureRevision: async (config) => {
      const revision: RevisionKey = `${config.namespace}/${config.revision}`;
      while (await caller.call(configureRevision, revision, config));
      await caller.command((client) => client.sadd(keys.revisions, revision));
    },
    removeRevision: async (revision) => {
      await caller.command((client) => client.srem(keys.revisions, revision));
      await caller.command((client) => client.unlink(...keys.list(revision, ALL_KEYS)));
      await caller.command((client) => client.publish(keys.configChannel, revision));
    },
    readRevision: async (revision) => {
      const text = await caller.command((client) =>
        client.hget(keys.one(revision, "meta"), "config"),
      );
      // Written by `configureRevision` from an object of this type.
      return text === null ? null : (parse(text, "configuration") as RevisionConfig);
    },
    listRevisions: async () => {
      const members = await caller.command((client) => client.smembers(keys.revisions));
      return members.filter(isRevisionKey).toSorted();
    },
  };
}

function figureCalls(
  caller: ScriptCaller,
  keys: Keys,
): Pick<RevisionCalls, "readFigures" | "readSamples" | "readScalerState" | "writeScalerState"> {
  return {
    readFigures: async (revision, { record }) => {
      const { more: _more, ...figures } = await caller.call(readFigures, revision, { record });
      return figures;
    },
    readSamples: async (revision) => {
      const samples = await caller.command((client) =>
        client.lrange(keys.one(revision, "samples"), 0, -1),
      );
      return samples.map(parseSample);
    },
    readScalerState: (revision) =>
      caller.command((client) => client.get(keys.one(revision, "scaler"))),
    writeScalerState: async (revision, state) => {
      await caller.command((client) => client.set(keys.one(revision, "scaler"), state));
    },
  };
}

function decisionCalls(
  caller: ScriptCaller,
  keys: Keys,
): Pick<RevisionCalls, "readDecisions" | "appendDecision"> {
  return {
    readDecisions: (revision) =>
      caller.command((client) => client.lrange(keys.one(revision, "decisions"), 0, -1)),
    appendDecision: async (revision, decision) => {
      const key = keys.one(revision, "decisions");
      await caller.command((client) =>
        client
          .multi()
          .rpush(key, decision)
          .ltrim(key, -MOST_DECISIONS, -1)
          .pexpire(key, DECISIONS_KEPT_MS)
          .exec(),
      );
    },
  };
}

function recordCalls(
  caller: ScriptCaller,
  keys: Keys,
): Pick<RevisionCalls, "recordColdStart" | "readColdStarts" | "recordEvents" | "readEvents"> {
  return {
    recordColdStart: async (record) => {
      const key = keys.one(record.revision, "coldstarts");
      await caller.command((client) =>
        client.xadd(key, "MAXLEN", "~", MOST_COLD_STARTS, "*", "record", JSON.stringify(record)),
      );
    },
    readColdStarts: async (revision, limit) => {
      const key = keys.one(revision, "coldstarts");
      const entries = await caller.command((client) =>
        client.xrevrange(key, "+", "-", "COUNT", limit),
      );
      // Written by `recordColdStart` from objects of this type.
      return firstOfEachPod(
        entries.map(([, fields]) => parse(fields[1] ?? "", "cold start") as ColdStartRecord),
      );
    },
    recordEvents: (revision, on) => caller.call(switchEvents, revision, { on }),
    readEvents: async (revision) => {
      const key = keys.one(revision, "events");
      const entries = await caller.command((client) => client.xrange(key, "-", "+"));
      return entries.map(([, fields]) => parseEvent(fields));
    },
  };
}

/**
 * Oldest first. Each activator records the first cold request that it sent to a pod; the start
 * itself is the one that was dispatched first.
 */
function firstOfEachPod(records: readonly ColdStartRecord[]): ColdStartRecord[] {
  const first = new Map<string, ColdStartRecord>();
  for (const record of records) {
    const known = first.get(record.podUid);
    if (known === undefined || record.dispatchedAt < known.dispatchedAt) {
      first.set(record.podUid, record);
    }
  }
  return [...first.values()].toSorted((left, right) => left.dispatchedAt - right.dispatchedAt);
}

function isRevisionKey(text: string): text is RevisionKey {
  return text.includes("/");
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlatformError("ERR_STORE_REPLY", `The store holds a ${what} that is no JSON`, {
      cause,
      details: { text: text.slice(0, 200) },
    });
  }
}

function parseSample(text: string): FiguresSample {
  const [at = 0, concurrencyIntegral = 0, arrivals = 0] = text.split(" ").map(Number);
  return { at, concurrencyIntegral, arrivals };
}

function parseEvent(fields: readonly string[]): StoreEvent {
  const values = new Map<string, string>();
  for (let index = 0; index + 1 < fields.length; index += 2) {
    values.set(fields[index] ?? "", fields[index + 1] ?? "");
  }
  const text = (name: string): string => values.get(name) ?? "";
  return {
    at: Number(text("at")),
    operation: text("operation"),
    target: text("target"),
    lease: text("lease"),
    state: text("state"),
    inFlight: Number(text("inFlight")),
    capacity: Number(text("capacity")),
    free: Number(text("free")),
    waiting: Number(text("waiting")),
  };
}
