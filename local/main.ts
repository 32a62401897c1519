/**
 * The whole platform on one machine: the store, the activators, the same controller as in a
 * cluster with local adapters, and the dashboard. `startPlatform` is its whole face.
 */
import { randomInt } from "node:crypto";
import type { CellParts } from "../autoscaler/cell-parts.ts";
import type { Autoscaler } from "../autoscaler/controller.ts";
import type { ActivatorRecord } from "../common/contracts/local-run.ts";
import { createRandom } from "../common/random.ts";
import { systemClock } from "../foundation/clock.ts";
import { createLogger } from "../foundation/logger.ts";
import type { Logger } from "../foundation/logger.ts";
import { createAddressBook } from "./addresses.ts";
import type { AddressBook } from "./addresses.ts";
import { openBase } from "./base.ts";
import type { CellPlace } from "./cell-place.ts";
import { openSources, startControl } from "./control.ts";
import type { Control } from "./control.ts";
import { DEFAULT_PORT, DEFAULT_RUN_FOLDER, DEFAULT_STOP_GRACE_MS } from "./defaults.ts";
import { PlatformEvents } from "./platform-events.ts";
import type { PlatformEvent, PlatformUrls, ServiceSummary } from "./platform-types.ts";
import type { PodSummary } from "./pod-types.ts";
import { PlatformLog } from "./platform-log.ts";
import { announce } from "./presence.ts";
import { claimPort, openServing, startServing } from "./serving.ts";
import type { Serving } from "./serving.ts";
import { StopList } from "./stop-list.ts";
import type { ServerFacts } from "../store/store.ts";
import type { RoutingStore } from "../store/types.ts";

export type { PlatformEvent, PlatformUrls, ServiceSummary } from "./platform-types.ts";

const DEFAULT_ACTIVATORS = 2;

export interface PlatformOptions {
  /** Service files, or folders of them. */
  readonly files: readonly string[];
  /** Public port on 127.0.0.1; 0 picks a free one. Default 8080. */
  readonly port?: number;
  /** Default: the port after the public one where it is free, else any. */
  readonly dashboardPort?: number;
  /** Default `.pilotlight/run` under the current folder. */
  readonly runFolder?: string;
  /** Default 2. */
  readonly activatorCount?: number;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly onEvent?: (event: PlatformEvent) => void;
  /** One of several cells of one platform; absent: the only one. */
  readonly cell?: CellPlace;
  /** Of pods; shared by platforms of one process. Default: its own. */
  readonly addresses?: AddressBook;
  /** Default: `logs/platform.log` in the run folder; what people must know comes as events. */
  readonly logger?: Logger;
}

export interface Platform {
  readonly urls: PlatformUrls;
  readonly runFolder: string;
  /** Which store serves, in words. */
  readonly store: string;
  /** The same as the server says it. */
  readonly storeFacts: ServerFacts;
  services(): readonly ServiceSummary[];
  pods(): readonly PodSummary[];
  activators(): readonly ActivatorRecord[];
  /** Calls whenever the set of living activators changed. */
  onActivators(listener: () => void): void;
  /** The cells as this one sees them; null where it is the only one. */
  readonly cells: CellParts | null;
  /** The routing state, for those who watch it (the demo, tests). */
  readonly routing: RoutingStore;
  /** The decisions about pods, for the same. */
  readonly scaling: Pick<Autoscaler, "decisions" | "onDecision" | "view">;
  /** Calls for each event from now on; answers the function that ends that. */
  onEvent(listener: (event: PlatformEvent) => void): () => void;
  /** Drains pods for at most `graceMs`. A second call with less hurries the first. */
  stop(graceMs?: number): Promise<void>;
}

/** Resolves when requests are taken; rejects, with nothing left running, when a part cannot start. */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const log = new PlatformLog();
  const logger = options.logger ?? createLogger({ name: "pilotlight", write: log.write });
  const events = new PlatformEvents(systemClock);
  const stops = new StopList(logger);
  if (options.onEvent !== undefined) events.listen(options.onEvent);
  try {
    const port = await claimPort(options.port ?? DEFAULT_PORT);
    const base = await openBase({
      runFolder: options.runFolder ?? DEFAULT_RUN_FOLDER,
      env: options.env ?? process.env,
      logger,
      events,
      stops,
      cell: options.cell,
    });
    log.moveTo(base.folder);
    stops.add("log", () => log.close());
    const serving = openServing(base, {
      port,
      activatorCount: options.activatorCount ?? DEFAULT_ACTIVATORS,
      addresses: options.addresses ?? createAddressBook(createRandom(randomInt(2 ** 32))),
    });
    // Before the activators listen: who asks in the first moment must not hear that there is no
    // such service.
    const sources = await openSources(serving, options.files);
    await startServing(serving);
    const control = await startControl(serving, sources);
    const urls = await announce(serving, control, options.dashboardPort ?? null);
    return platformOf(serving, control, urls);
  } catch (error) {
    await stops.stopAll();
    throw error;
  }
}

function platformOf(serving: Serving, control: Control, urls: PlatformUrls): Platform {
  const { base, pods, grace } = serving;
  return {
    urls,
    runFolder: base.folder.path,
    store: base.server.description,
    storeFacts: base.storeFacts,
    services: () => serving.summaries(),
    pods: () => pods.summaries(),
    activators: () => serving.activators.records(),
    onActivators: (listener) => void serving.onActivators.add(listener),
    cells: control.cells,
    routing: base.store.store,
    scaling: control.autoscaler,
    onEvent: (listener) => base.events.listen(listener),
    stop: async (graceMs = DEFAULT_STOP_GRACE_MS) => {
      // While the first call drains the pods, a second one hurries them.
      if (grace.stopping) void pods.stop(graceMs);
      grace.ms = graceMs;
      grace.stopping = true;
      await base.stops.stopAll();
    },
  };
}
