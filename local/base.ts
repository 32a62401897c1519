/** What everything else of a local platform stands on: run folder, watchdog, gate, secret, store. */
import { randomBytes } from "node:crypto";
import type { Logger } from "../foundation/logger.ts";
import { createStore } from "../store/store.ts";
import type { ServerFacts, StoreHandle } from "../store/store.ts";
import type { CellPlace } from "./cell-place.ts";
import { startChild } from "./child.ts";
import { COMPILE_CACHE } from "./defaults.ts";
import { LogFile } from "./log-file.ts";
import type { PlatformEvents } from "./platform-events.ts";
import { createRunSecret } from "./pod-identity.ts";
import { openReadinessGate } from "./readiness-gate.ts";
import type { ReadinessGate } from "./readiness-gate.ts";
import { openRunFolder, RUN_FILES, writeWhole } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";
import type { StopList } from "./stop-list.ts";
import { startStore } from "./valkey.ts";
import type { LocalStore } from "./valkey.ts";
import { startWatchdog } from "./watchdog.ts";
import type { Watchdog } from "./watchdog.ts";

const SIDECAR = new URL("../queue-proxy/sidecar.ts", import.meta.url).href;
/** The first connection may wait for a server that loads. */
const STORE_TIMEOUT_MS = 2_000;

export interface BaseOptions {
  readonly runFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  readonly events: PlatformEvents;
  readonly stops: StopList;
  /** One of several cells; absent: the only one. */
  readonly cell?: CellPlace | undefined;
}

export interface Base extends BaseOptions {
  readonly folder: RunFolder;
  readonly watchdog: Watchdog;
  readonly gate: ReadinessGate;
  readonly secret: string;
  readonly server: LocalStore;
  readonly store: StoreHandle;
  readonly storeFacts: ServerFacts;
  readonly storePrefix: string;
  readonly compileCache: string;
}

export async function openBase(options: BaseOptions): Promise<Base> {
  const { stops, env, events, logger } = options;
  const folder = await openRunFolder(options.runFolder);
  stops.add("run folder", () => folder.remove());
  const watchdog = await startWatchdog(folder.path);
  stops.add("watchdog", () => watchdog.stop());
  const warmUp = fillCompileCache(watchdog, folder);
  stops.add("compile cache", () => warmUp);
  const gate = await openReadinessGate();
  stops.add("readiness gate", () => gate.close());
  const secret = createRunSecret();
  await writeWhole(folder.at(RUN_FILES.secret), secret);
  const onWarning = (text: string): void => events.warn(text);
  const server = await startStore({ folder, watchdog, env, onWarning });
  stops.add("store server", () => server.stop());
  // Of this run alone: a server that several runs share must not mix them up.
  const storePrefix = `pilotlight-${randomBytes(4).toString("hex")}:`;
  const store = createStore({
    url: server.url,
    prefix: storePrefix,
    logger,
    timeoutMs: STORE_TIMEOUT_MS,
  });
  stops.add("store client", () => store.close());
  await store.ready();
  return {
    ...options,
    folder,
    watchdog,
    gate,
    secret,
    server,
    store,
    storeFacts: await store.server(),
    storePrefix,
    compileCache: COMPILE_CACHE,
  };
}

/**
 * Compiles the sidecar's sources once, in the background, so that no cold start has to: measured
 * 270 ms to load them without the cache, 80 ms with it.
 */
async function fillCompileCache(watchdog: Watchdog, folder: RunFolder): Promise<void> {
  const log = new LogFile(folder.at(RUN_FILES.logs, "compile.log"));
  const script = `import(${JSON.stringify(SIDECAR)}).then(() => process.exit())`;
  const env = { NODE_COMPILE_CACHE: COMPILE_CACHE };
  const spec = { command: process.execPath, args: ["--eval", script], cwd: folder.path, env, log };
  await startChild(spec, watchdog).exited;
  log.close();
}
