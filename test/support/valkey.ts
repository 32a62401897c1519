/**
 * A private Valkey for tests: on a free loopback port, without persistence, stopped by its pid.
 * Never a mock: scripts behave only on a real server.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { LARGE_PAGES_ENV, LARGE_PAGES_SETTING } from "../../local/store-memory.ts";
import { eventually } from "./eventually.ts";

export interface ValkeyServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** `valkey`, or `redis` where only that was found. */
  readonly kind: "valkey" | "redis";
  /** A plain client for looking inside; closed with the server. */
  readonly admin: Redis;
  /** A prefix that no other test uses. */
  freshPrefix(): string;
  stop(): Promise<void>;
}

export interface ValkeyOptions {
  /** A fixed port, to start a server again where another one was. */
  readonly port?: number;
  /** More settings, e.g. `["--replicaof", "127.0.0.1 7001"]`. */
  readonly args?: readonly string[];
}

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

export async function startValkey(options: ValkeyOptions = {}): Promise<ValkeyServer> {
  const { port } = options;
  if (port !== undefined) return startAt(port, options);
  return withFreePorts(async () => startAt(await freePort(), options));
}

/** Once more when somebody else took a port between its choice and its use. */
export async function withFreePorts<T>(start: () => Promise<T>): Promise<T> {
  for (let left = 3; ; left -= 1) {
    try {
      return await start();
    } catch (error) {
      if (left === 0 || !String(error).includes("Address already in use")) throw error;
    }
  }
}

async function startAt(port: number, options: ValkeyOptions): Promise<ValkeyServer> {
  const { path, kind } = findServer();
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-valkey-"));
  const settings = ["--bind", "127.0.0.1", "--port", String(port), "--save", "", "--dir", folder];
  const [name, value] = LARGE_PAGES_SETTING;
  settings.push("--appendonly", "no", `--${name}`, value);
  const child = spawn(path, [...settings, ...(options.args ?? [])], {
    env: { ...LARGE_PAGES_ENV, ...process.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output = (output + String(chunk)).slice(-4_000)));
  child.stderr?.on("data", (chunk: Buffer) => (output = (output + String(chunk)).slice(-4_000)));

  const admin = new Redis(port, "127.0.0.1", {
    lazyConnect: true,
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  });
  admin.on("error", () => undefined);
  const stop = async (): Promise<void> => {
    admin.disconnect();
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    void admin.connect().catch(() => undefined);
    await eventually(() => child.exitCode !== null || admin.status === "ready", {
      timeoutMs: 10_000,
      what: `${kind}-server answers on port ${port}`,
    });
    if (child.exitCode !== null) throw new Error(`${path} ended at once:\n${output}`);
  } catch (error) {
    await stop();
    throw error;
  }
  let prefixes = 0;
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid ?? 0,
    kind,
    admin,
    freshPrefix: () => `t${process.pid}-${(prefixes += 1)}:`,
    stop,
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  // A stopped process hears SIGTERM only after SIGCONT; a stuck one not at all.
  child.kill("SIGCONT");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 2_000);
  await ended;
  clearTimeout(timer);
}

export function findServer(): { path: string; kind: "valkey" | "redis" } {
  const named = process.env["PILOTLIGHT_VALKEY"];
  if (named !== undefined && named !== "") {
    if (!isExecutable(named)) {
      throw new Error(`PILOTLIGHT_VALKEY is ${named}, which is no program that can be run`);
    }
    return { path: named, kind: named.includes("redis") ? "redis" : "valkey" };
  }
  const valkey =
    onPath("valkey-server") ?? executable(join(REPOSITORY, ".cache/valkey/bin/valkey-server"));
  if (valkey !== undefined) return { path: valkey, kind: "valkey" };
  const redis = onPath("redis-server");
  if (redis !== undefined) return { path: redis, kind: "redis" };
  throw new Error(
    "These tests need a Valkey server and found none: install valkey-server (or redis-server 7), " +
      "put it on PATH, or set PILOTLIGHT_VALKEY to the path of the program",
  );
}

function onPath(program: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => executable(join(folder, program)))
    .find((path) => path !== undefined);
}

function executable(path: string): string | undefined {
  return isExecutable(path) ? path : undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      // A TCP server has an address object, not a path.
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
