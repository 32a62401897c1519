/**
 * What is learnt and kept beside the routing state, with plain commands: the call log of a revision,
 * what was learnt of it and of classes of workflows, and which workflows ran lately. All of it may be
 * lost; it is learnt again.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Keys } from "./keys.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type { WorkflowKey } from "./types.ts";

export interface LogPage {
  /** Id of the last entry; what was given when there is none. */
  readonly cursor: string;
  readonly entries: readonly string[];
}

export interface RecentWorkflow extends WorkflowKey {
  readonly workflowClass: string;
  /** First call, ms since the epoch. */
  readonly at: number;
}

export interface KnowledgeStore {
  /** Adds to the call log, which keeps about the last 50,000 entries. */
  appendCalls(revision: RevisionKey, entries: readonly string[]): Promise<void>;
  /** Entries after a cursor; `0` is the beginning. */
  readCalls(revision: RevisionKey, cursor: string, limit: number): Promise<LogPage>;
  readKnowledge(revision: RevisionKey): Promise<string | null>;
  writeKnowledge(revision: RevisionKey, text: string): Promise<void>;
  readClass(namespace: string, workflowClass: string): Promise<string | null>;
  writeClass(namespace: string, workflowClass: string, text: string): Promise<void>;
  /** The first call of a workflow came. */
  noteWorkflow(workflow: RecentWorkflow): Promise<void>;
  /** Newest first. */
  recentWorkflows(limit: number): Promise<readonly RecentWorkflow[]>;
}

const LOG_ENTRIES = 50_000;
/** Forgotten when nothing was learnt for this long. */
const KEPT_S = 30 * 86_400;
const MOST_RECENT = 500;
const RECENT_KEPT_S = 86_400;

export function createKnowledgeStore(caller: ScriptCaller, keys: Keys): KnowledgeStore {
  return {
    ...logCalls(caller, keys),
    readKnowledge: (revision) =>
      caller.command((connection) => connection.get(keys.one(revision, "knowledge"))),
    writeKnowledge: async (revision, text) => {
      const key = keys.one(revision, "knowledge");
      await caller.command((connection) => connection.set(key, text, "EX", KEPT_S));
    },
    readClass: (namespace, workflowClass) =>
      caller.command((connection) => connection.get(keys.workflowClass(namespace, workflowClass))),
    writeClass: async (namespace, workflowClass, text) => {
      const key = keys.workflowClass(namespace, workflowClass);
      await caller.command((connection) => connection.set(key, text, "EX", KEPT_S));
    },
    noteWorkflow: async (workflow) => {
      const { namespace, tenant, id, workflowClass, at } = workflow;
      const member = JSON.stringify([namespace, tenant, id, workflowClass]);
      await caller.command((connection) =>
        connection
          .pipeline()
          .zadd(keys.recentWorkflows, at, member)
          .zremrangebyrank(keys.recentWorkflows, 0, -MOST_RECENT - 1)
          .expire(keys.recentWorkflows, RECENT_KEPT_S)
          .exec(),
      );
    },
    recentWorkflows: async (limit) => {
      const flat = await caller.command((connection) =>
        connection.zrevrange(keys.recentWorkflows, 0, limit - 1, "WITHSCORES"),
      );
      return readRecent(flat);
    },
  };
}

function logCalls(
  caller: ScriptCaller,
  keys: Keys,
): Pick<KnowledgeStore, "appendCalls" | "readCalls"> {
  return {
    appendCalls: async (revision, entries) => {
      const key = keys.one(revision, "calls");
      await caller.command((connection) => {
        const pipeline = connection.pipeline();
        for (const entry of entries)
          pipeline.xadd(key, "MAXLEN", "~", LOG_ENTRIES, "*", "e", entry);
        return pipeline.expire(key, KEPT_S).exec();
      });
    },
    readCalls: async (revision, cursor, limit) => {
      const key = keys.one(revision, "calls");
      const from = cursor === "0" ? "-" : `(${cursor}`;
      const rows = await caller.command((connection) =>
        connection.xrange(key, from, "+", "COUNT", limit),
      );
      return {
        cursor: rows.at(-1)?.[0] ?? cursor,
        entries: rows.map(([, fields]) => fields[1] ?? ""),
      };
    },
  };
}

function readRecent(flat: readonly string[]): RecentWorkflow[] {
  const found: RecentWorkflow[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const parts: unknown = JSON.parse(flat[index] ?? "[]");
    // Written by `noteWorkflow`.
    const [namespace = "", tenant = "", id = "", workflowClass = ""] = parts as string[];
    found.push({ namespace, tenant, id, workflowClass, at: Number(flat[index + 1]) });
  }
  return found;
}
