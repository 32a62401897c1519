/**
 * Several Valkeys that belong together: a primary with a replica under three Sentinels, and a
 * cluster of primaries. Real processes on loopback ports, stopped by their pids.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { eventually } from "./eventually.ts";
import { findServer, freePort, startValkey, withFreePorts } from "./valkey.ts";
import type { ValkeyServer } from "./valkey.ts";

export const SENTINEL_NAME = "pilot";
const SENTINELS = 3;
/** Of three Sentinels two must agree. */
const QUORUM = 2;
const DOWN_AFTER_MS = 500;
const NODE_TIMEOUT_MS = 1_000;
const SLOTS = 16_384;
const PRIMARIES = 3;

export interface SentinelSet {
  readonly url: string;
  readonly primary: ValkeyServer;
  readonly replica: ValkeyServer;
  readonly sentinelPids: readonly number[];
  /** Port of the primary as the Sentinels say it now. */
  primaryPort(): Promise<number>;
  stop(): Promise<void>;
}

export async function startSentinelSet(): Promise<SentinelSet> {
  const primary = await startValkey();
  const replica = await startValkey({ args: ["--replicaof", `127.0.0.1 ${primary.port}`] });
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, () => startSentinel(primary.port)),
  );
  const [first] = sentinels;
  if (first === undefined) throw new Error("no Sentinel was started");
  await eventually(
    async () => (await replica.admin.info("replication")).includes("link_status:up"),
    {
      timeoutMs: 15_000,
      what: "the replica follows its primary",
    },
  );
  await eventually(async () => (await Promise.all(sentinels.map(isComplete))).every(Boolean), {
    timeoutMs: 15_000,
    what: "every Sentinel knows the others and the replica",
  });
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",");
  return {
    url: `redis+sentinel://${hosts}/${SENTINEL_NAME}`,
    primary,
    replica,
    sentinelPids: sentinels.map(({ pid }) => pid),
    primaryPort: async () => Number((await askSentinel(first.admin, "get-master-addr-by-name"))[1]),
    stop: async () => {
      for (const sentinel of sentinels) await sentinel.stop();
      await replica.stop();
      await primary.stop();
    },
  };
}

interface Sentinel {
  readonly port: number;
  readonly pid: number;
  readonly admin: Redis;
  stop(): Promise<void>;
}

async function startSentinel(primaryPort: number): Promise<Sentinel> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-sentinel-"));
  const file = join(folder, "sentinel.conf");
  const monitor = `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primaryPort} ${QUORUM}`;
  const settings = [
    "bind 127.0.0.1",
    `port ${port}`,
    `dir ${folder}`,
    monitor,
    `sentinel down-after-milliseconds ${SENTINEL_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${SENTINEL_NAME} 3000`,
  ];
  writeFileSync(file, `${settings.join("\n")}\n`);
  const child = spawn(findServer().path, [file, "--sentinel"], { stdio: "ignore" });
  const admin = new Redis(port, "127.0.0.1", {
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  });
  admin.on("error", () => undefined);
  return {
    port,
    pid: child.pid ?? 0,
    admin,
    stop: async () => {
      admin.disconnect();
      await killed(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function isComplete({ admin }: Sentinel): Promise<boolean> {
  const info = await admin.info("sentinel");
  return info.includes("status=ok,") && info.includes(`slaves=1,sentinels=${SENTINELS}`);
}

async function askSentinel(admin: Redis, what: string): Promise<readonly string[]> {
  return (await admin.call("SENTINEL", what, SENTINEL_NAME)) as string[];
}

export interface ValkeyCluster {
  readonly url: string;
  /** Its primaries at the start. */
  readonly nodes: readonly ValkeyServer[];
  /** One for each of them, in the same order; empty in a cluster without. */
  readonly replicas: readonly ValkeyServer[];
  slotOf(key: string): Promise<number>;
  /** The node that serves a slot, as those that live see it. */
  ownerOf(slot: number): Promise<ValkeyServer>;
  /** Moves a slot with its keys to another node, as an operator's tool does. */
  moveSlot(slot: number, to: ValkeyServer): Promise<void>;
  /** Without a word to the others. */
  kill(node: ValkeyServer): Promise<void>;
  stop(): Promise<void>;
}

export type Replicas = "with-replicas" | "without-replicas";

export async function startValkeyCluster(
  replicas: Replicas = "without-replicas",
): Promise<ValkeyCluster> {
  const count = PRIMARIES * (replicas === "with-replicas" ? 2 : 1);
  const all = await startAll(count);
  const [first] = all;
  if (first === undefined) throw new Error("a cluster has at least one node");
  const primaries = all.slice(0, PRIMARIES);
  const share = Math.ceil(SLOTS / PRIMARIES);
  for (const [index, { admin }] of primaries.entries()) {
    const last = Math.min(SLOTS, (index + 1) * share) - 1;
    await admin.call("CLUSTER", "ADDSLOTSRANGE", index * share, last);
    await admin.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
  }
  for (const { port, busPort } of all.slice(1)) {
    await first.admin.call("CLUSTER", "MEET", "127.0.0.1", port, busPort);
  }
  const isReady = async (check: (node: ValkeyServer) => Promise<boolean>): Promise<boolean> =>
    (await Promise.all(all.map(check))).every(Boolean);
  await eventually(() => isReady((node) => isWhole(node, count)), {
    timeoutMs: 20_000,
    what: "every node knows the whole cluster",
  });
  for (const [index, replica] of all.slice(PRIMARIES).entries()) {
    await replica.admin.call("CLUSTER", "REPLICATE", await nodeId(primaries[index] ?? first));
  }
  await eventually(() => isReady(isInSync), {
    timeoutMs: 20_000,
    what: "every replica follows its primary, and its primary knows",
  });
  return clusterOf(primaries, all.slice(PRIMARIES));
}

function clusterOf(nodes: readonly ClusterNode[], replicas: readonly ClusterNode[]): ValkeyCluster {
  const all = [...nodes, ...replicas];
  const ownerOf = async (slot: number): Promise<ValkeyServer> => {
    const ranges = (await livingOf(all).admin.call("CLUSTER", "SLOTS")) as [
      number,
      number,
      [string, number],
    ][];
    const port = ranges.find(([from, to]) => slot >= from && slot <= to)?.[2][1];
    const owner = all.find((node) => node.port === port);
    if (owner === undefined) throw new Error(`nobody serves slot ${slot}`);
    return owner;
  };
  return {
    url: `redis+cluster://${all.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    nodes,
    replicas,
    slotOf: async (key) => Number(await livingOf(all).admin.call("CLUSTER", "KEYSLOT", key)),
    ownerOf,
    moveSlot: async (slot, to) => moveSlot(nodes, await ownerOf(slot), { slot, to }),
    kill: async ({ pid }) => {
      process.kill(pid, "SIGKILL");
      // A question to it would wait for ever.
      await eventually(() => !isRunning(pid), { everyMs: 5 });
    },
    stop: async () => {
      for (const node of all) await node.stop();
    },
  };
}

function livingOf(nodes: readonly ValkeyServer[]): ValkeyServer {
  const living = nodes.find(({ pid }) => isRunning(pid));
  if (living === undefined) throw new Error("no node of the cluster lives any more");
  return living;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A replica with its data, or a primary whose replicas, if any, have theirs. */
async function isInSync({ admin }: ValkeyServer): Promise<boolean> {
  const info = await admin.info("replication");
  if (info.includes("role:slave")) return info.includes("master_link_status:up");
  return !info.includes("state=") || info.includes("state=online");
}

interface ClusterNode extends ValkeyServer {
  readonly busPort: number;
}

/** All of them, or none is left behind. */
async function startAll(count: number): Promise<readonly ClusterNode[]> {
  const started = await Promise.allSettled(Array.from({ length: count }, startNode));
  const nodes = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = started.find((one) => one.status === "rejected");
  if (failed === undefined) return nodes;
  await Promise.all(nodes.map((node) => node.stop()));
  throw failed.reason;
}

function startNode(): Promise<ClusterNode> {
  return withFreePorts(startNodeOnce);
}

async function startNodeOnce(): Promise<ClusterNode> {
  const busPort = await freePort();
  const server = await startValkey({
    args: [
      ["--cluster-enabled", "yes"],
      ["--cluster-node-timeout", String(NODE_TIMEOUT_MS)],
      ["--cluster-port", String(busPort)],
    ].flat(),
  });
  return { ...server, busPort };
}

async function isWhole({ admin }: ValkeyServer, count: number): Promise<boolean> {
  const info = String(await admin.call("CLUSTER", "INFO"));
  return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${count}`);
}

async function moveSlot(
  nodes: readonly ValkeyServer[],
  from: ValkeyServer,
  { slot, to }: { readonly slot: number; readonly to: ValkeyServer },
): Promise<void> {
  const [fromId, toId] = [await nodeId(from), await nodeId(to)];
  await to.admin.call("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
  await from.admin.call("CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
  for (;;) {
    const keys = (await from.admin.call("CLUSTER", "GETKEYSINSLOT", slot, 100)) as string[];
    if (keys.length === 0) break;
    await from.admin.call("MIGRATE", "127.0.0.1", to.port, "", 0, 5_000, "KEYS", ...keys);
  }
  // The new owner first, so that the slot is never without one.
  for (const { admin } of [to, from, ...nodes.filter((node) => node !== to && node !== from)]) {
    await admin.call("CLUSTER", "SETSLOT", slot, "NODE", toId);
  }
}

async function nodeId({ admin }: ValkeyServer): Promise<string> {
  return String(await admin.call("CLUSTER", "MYID"));
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}
