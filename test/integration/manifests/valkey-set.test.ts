/**
 * The start scripts of the Valkey that the manifests bring, with real servers and Sentinels: who
 * leads, who may do what, and a primary that comes back empty.
 */
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { revisionConfig } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { MANIFESTS } from "../../support/manifest-files.ts";
import { freePort } from "../../support/valkey.ts";

const NETWORK = `127.0.${20 + (process.pid % 200)}`;
const PEERS = [1, 2, 3].map((index) => `${NETWORK}.${200 + index}`);
const PASSWORD = "for-the-platform";
const INTERNAL = "among-themselves";
const LONG = { timeoutMs: 60_000, everyMs: 100 };

let folder: string;
let port: number;
let sentinelPort: number;
let store: StoreHandle;
const children = new Map<string, ChildProcess>();
const connections: Redis[] = [];

function environment(peer: string): Readonly<Record<string, string>> {
  return {
    PATH: `${join(MANIFESTS, "../.cache/valkey/bin")}:${process.env["PATH"] ?? ""}`,
    PASSWORD,
    INTERNAL_PASSWORD: INTERNAL,
    PEERS: PEERS.join(" "),
    PORT: String(port),
    SENTINEL_PORT: String(sentinelPort),
    SELF: peer,
    BIND: peer,
  };
}

function start(kind: "valkey" | "sentinel", peer: string): void {
  const data = join(folder, `${kind}-${peer}`);
  mkdirSync(data, { recursive: true });
  const child = spawn("sh", [join(MANIFESTS, `components/valkey/start-${kind}.sh`)], {
    stdio: "ignore",
    env: { ...environment(peer), DATA: data },
  });
  children.set(`${kind} ${peer}`, child);
}

async function kill(name: string): Promise<void> {
  const child = children.get(name);
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  // The scripts end by becoming the server, so this is the server.
  child.kill("SIGKILL");
  await gone;
}

function connect(host: string, access: { username?: string; password?: string } = {}): Redis {
  const options = { host, port, retryStrategy: () => null, enableReadyCheck: false };
  const connection = new Redis({ ...options, ...access });
  connection.on("error", () => undefined);
  connections.push(connection);
  return connection;
}

function connectSentinel(host: string): Redis {
  const options = { host, port: sentinelPort, retryStrategy: () => 50, enableReadyCheck: false };
  const connection = new Redis(options);
  connection.on("error", () => undefined);
  connections.push(connection);
  return connection;
}

async function primary(): Promise<string> {
  const answer = await connectSentinel(PEERS[1] ?? "").call(
    ...(["sentinel", "get-master-addr-by-name", "pilotlight"] as const),
  );
  return String((answer as string[] | null)?.[0] ?? "");
}

/** Every Sentinel knows the others and both replicas; they ask the primary each 10 s. */
async function isSettled(): Promise<boolean> {
  for (const peer of PEERS) {
    const sentinel = connectSentinel(peer);
    for (const of of ["sentinels", "replicas"]) {
      const known = await sentinel.call("sentinel", of, "pilotlight");
      if (!Array.isArray(known) || known.length !== 2) return false;
      if (JSON.stringify(known).includes("s_down")) return false;
    }
  }
  return true;
}

async function replicasOf(host: string): Promise<number> {
  const info = await connect(host, { username: "internal", password: INTERNAL }).info(
    "replication",
  );
  return Number(/connected_slaves:(\d+)/.exec(info)?.[1] ?? "0");
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pilotlight-valkey-"));
  port = await freePort();
  sentinelPort = await freePort();
  for (const peer of PEERS) {
    start("valkey", peer);
    start("sentinel", peer);
  }
  const hosts = PEERS.map((peer) => `${peer}:${sentinelPort}`).join(",");
  const url = `redis+sentinel://pilotlight:${PASSWORD}@${hosts}/pilotlight`;
  store = createStore({ url, prefix: "pl", timeoutMs: 2_000 });
  await eventually(async () => (await replicasOf(PEERS[0] ?? "")) === 2, LONG);
  await eventually(() => store.ready().then(() => true), LONG);
  await eventually(isSettled, LONG);
}, 180_000);
afterAll(async () => {
  await store.close();
  for (const connection of connections) connection.disconnect();
  for (const name of children.keys()) await kill(name);
  rmSync(folder, { recursive: true, force: true });
});

describe("the Valkey of the manifests", () => {
  it("has the first pod for a primary, and the platform's scripts run as its user", async () => {
    expect(await primary()).toBe(PEERS[0]);
    await store.store.configureRevision(revisionConfig());
    expect(await store.store.readRevision("default/echo-00001")).toMatchObject({ service: "echo" });
  });

  it("lets nobody in without a password, and the platform only where it belongs", async () => {
    const stranger = connect(PEERS[0] ?? "");
    expect(await stranger.ping()).toBe("PONG");
    await expect(stranger.get("pl:x")).rejects.toThrow("NOPERM");
    await expect(stranger.call("config", "get", "requirepass")).rejects.toThrow("NOPERM");
    const platform = connect(PEERS[0] ?? "", { username: "pilotlight", password: PASSWORD });
    await expect(platform.get("other")).rejects.toThrow("NOPERM");
    await expect(platform.call("config", "get", "masterauth")).rejects.toThrow("NOPERM");
    await expect(platform.call("flushall")).rejects.toThrow("NOPERM");
    await expect(platform.publish("other", "x")).rejects.toThrow("NOPERM");
  });

  it("answers who leads to everybody, and takes orders from nobody", async () => {
    const sentinel = connectSentinel(PEERS[0] ?? "");
    for (const order of [
      ["failover", "pilotlight"],
      ["set", "pilotlight", "quorum", "1"],
      ["remove", "pilotlight"],
    ]) {
      await expect(sentinel.call("sentinel", ...order)).rejects.toThrow("NOPERM");
    }
  });

  it("hands over before a pod is stopped", async () => {
    const leader = await primary();
    const script = join(MANIFESTS, "components/valkey/leave.sh");
    await promisify(execFile)("sh", [script], { env: environment(leader) });
    await eventually(async () => (await primary()) !== leader, LONG);
    await eventually(isSettled, LONG);
    await eventually(() => store.store.readRevision("default/echo-00001"), LONG);
  }, 120_000);

  it("keeps what a replica holds when the primary comes back empty at once", async () => {
    const leader = await primary();
    await kill(`valkey ${leader}`);
    rmSync(join(folder, `valkey-${leader}`), { recursive: true, force: true });
    start("valkey", leader);
    await eventually(async () => (await primary()) !== leader, LONG);
    await eventually(async () => (await replicasOf(await primary())) === 2, LONG);
    await eventually(isSettled, LONG);
    await eventually(() => store.store.readRevision("default/echo-00001"), LONG);
  }, 180_000);

  it("promotes a replica when the primary is gone for good", async () => {
    const leader = await primary();
    await kill(`valkey ${leader}`);
    await eventually(async () => (await primary()) !== leader, LONG);
    await eventually(() => store.store.readRevision("default/echo-00001"), LONG);
  }, 120_000);
});
