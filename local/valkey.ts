/**
 * The routing store of a local platform: a Valkey server as a child, with a password of its own so
 * that user containers cannot reach into it, or an external one that `VALKEY_URL` names.
 */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { PlatformError } from "../common/errors.ts";
import { isFree } from "./addresses.ts";
import { describeExit, startChild } from "./child.ts";
import { findProgram } from "./launch.ts";
import { LogFile } from "./log-file.ts";
import { answers, appendToFile } from "./store-commands.ts";
import { RUN_FILES, writeWhole } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";
import { LARGE_PAGES_ENV, LARGE_PAGES_SETTING } from "./store-memory.ts";
import { Supervised } from "./supervised.ts";
import type { Watchdog } from "./watchdog.ts";

const PROJECT_SERVER = fileURLToPath(
  new URL("../.cache/valkey/bin/valkey-server", import.meta.url),
);
const PORTS = { from: 16_380, count: 3_000 } as const;
const START_TIMEOUT_MS = 10_000;
const STOP_GRACE_MS = 3_000;

export interface LocalStore {
  readonly url: string;
  /** For people: what serves, and why it is that one. */
  readonly description: string;
  /** 0 for an external server, and while a dead one is not up again. */
  readonly pid: number;
  /** Calls when a dead server is started again. */
  onRestart(listener: () => void): void;
  /**
   * Accepted runs must outlive the server: it writes a file from now on, and reads it again when it
   * is started again. Nothing happens to an external server.
   */
  keepFile(): Promise<void>;
  stop(): Promise<void>;
}

export interface StoreOptions {
  readonly folder: RunFolder;
  readonly watchdog: Watchdog;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onWarning: (text: string) => void;
}

export interface StoreProgram {
  readonly path: string;
  readonly fallback: boolean;
}

export async function startStore(options: StoreOptions): Promise<LocalStore> {
  const { env } = options;
  const external = env["VALKEY_URL"] ?? "";
  if (external !== "") {
    const description = "the server of VALKEY_URL";
    const stop = (): Promise<void> => Promise.resolve();
    const keepFile = stop;
    return { url: external, description, pid: 0, onRestart: () => undefined, keepFile, stop };
  }
  return startChildStore(options, await findStoreServer(env));
}

/** A server that dies is started again, mostly empty: everybody writes back what they know. */
async function startChildStore(options: StoreOptions, program: StoreProgram): Promise<LocalStore> {
  const { folder, watchdog, env, onWarning } = options;
  const port = await findPort();
  const password = randomBytes(18).toString("hex");
  const configFile = folder.at(RUN_FILES.store, "valkey.conf");
  const dir = folder.at(RUN_FILES.store);
  await writeWhole(configFile, serverConfig({ port, password, dir, keepsFile: false }));
  const log = new LogFile(folder.at(RUN_FILES.logs, "valkey.log"));
  const childEnv = { ...LARGE_PAGES_ENV, PATH: env["PATH"] ?? "" };
  const spec = { command: program.path, args: [configFile], cwd: "/", env: childEnv, log };
  const listeners: (() => void)[] = [];
  const server = new Supervised({
    start: () => {
      const child = startChild(spec, watchdog);
      queueMicrotask(() => listeners.forEach((listener) => listener()));
      return child;
    },
    onExit: (exit, pauseMs) =>
      onWarning(`Valkey ${describeExit(exit)}; starts again in ${Math.round(pauseMs)} ms`),
    backOff: { firstMs: 100, maxMs: 5_000, healthyMs: 10_000 },
  });
  server.start();
  await untilAnswers(server, port, log);
  const fallback = program.fallback ? " (no Valkey found; Redis as fall-back)" : "";
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    description: `${program.path} on port ${port}${fallback}`,
    get pid() {
      return server.pid;
    },
    onRestart: (listener) => void listeners.push(listener),
    keepFile: async () => {
      await writeWhole(configFile, serverConfig({ port, password, dir, keepsFile: true }));
      await appendToFile(port, password);
    },
    stop: async () => {
      await server.stop(STOP_GRACE_MS);
      log.close();
    },
  };
}

/** The program that would serve; rejects with the cure when there is none. */
export async function findStoreServer(
  env: Readonly<Record<string, string | undefined>>,
): Promise<StoreProgram> {
  const named = env["PILOTLIGHT_VALKEY"] ?? "";
  if (named !== "") {
    const path = await findProgram(named, process.cwd(), env["PATH"]);
    if (path !== null) return { path, fallback: false };
    throw new PlatformError(
      "ERR_STORE_UNAVAILABLE",
      `PILOTLIGHT_VALKEY names ${named}, which is no program. Set it to a valkey-server binary.`,
    );
  }
  for (const candidate of ["valkey-server", PROJECT_SERVER, "redis-server"]) {
    const path = await findProgram(candidate, process.cwd(), env["PATH"]);
    if (path !== null) return { path, fallback: candidate === "redis-server" };
  }
  throw new PlatformError(
    "ERR_STORE_UNAVAILABLE",
    "No Valkey found: not in PATH and not in the project's .cache. Install valkey-server 8 or " +
      "later, set PILOTLIGHT_VALKEY to its path, or set VALKEY_URL to a running server.",
  );
}

async function findPort(): Promise<number> {
  const start = Math.floor(randomBytes(2).readUInt16BE(0) % PORTS.count);
  for (let step = 0; step < PORTS.count; step += 1) {
    const port = PORTS.from + ((start + step) % PORTS.count);
    if (await isFree("127.0.0.1", port)) return port;
  }
  throw new PlatformError("ERR_PORT_IN_USE", "No free port for Valkey between 16380 and 19380.");
}

interface ServerSettings {
  readonly port: number;
  readonly password: string;
  readonly dir: string;
  readonly keepsFile: boolean;
}

/**
 * In memory only, as long as nobody makes asynchronous calls: routing state is rebuilt from pods
 * and activators, never from disk.
 */
function serverConfig({ port, password, dir, keepsFile }: ServerSettings): string {
  return [
    "bind 127.0.0.1",
    `port ${port}`,
    "protected-mode yes",
    `requirepass ${password}`,
    `dir ${quoted(dir)}`,
    'save ""',
    `appendonly ${keepsFile ? "yes" : "no"}`,
    "appendfsync everysec",
    "maxmemory-policy noeviction",
    LARGE_PAGES_SETTING.join(" "),
    "daemonize no",
    "",
  ].join("\n");
}

/** As the server's own parser reads it: a folder may have any name. */
function quoted(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', String.raw`\"`);
  return `"${escaped.replaceAll("\n", String.raw`\n`)}"`;
}

async function untilAnswers(server: Supervised, port: number, log: LogFile): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await answers(port))) {
    if (server.restarts > 0 || performance.now() > deadline) {
      const words = log.lastWords();
      await server.stop(0);
      throw new PlatformError(
        "ERR_STORE_UNAVAILABLE",
        `Valkey does not start on port ${port}. Its last words:\n${words}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
