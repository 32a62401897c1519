/** The activator process: environment in, parts wired, ports opened, life and end of the process. */
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../common/random.ts";
import { systemClock } from "../foundation/clock.ts";
import { createLifecycle, stopOnSignals } from "../foundation/lifecycle.ts";
import type { Lifecycle } from "../foundation/lifecycle.ts";
import { createLogger } from "../foundation/logger.ts";
import type { Logger } from "../foundation/logger.ts";
import { createRunStore } from "../store/run-calls.ts";
import { createStore } from "../store/store.ts";
import type { StoreHandle } from "../store/store.ts";
import type { ActivatorOptions, Listening } from "./activator.ts";
import { createActivator } from "./activator.ts";
import { readCellConfig } from "./cell-config.ts";
import { ActivatorCells } from "./cells.ts";
import type { ActivatorConfig } from "./config.ts";
import { createApiReader } from "./api-reader.ts";
import { withClusterDomain } from "./cluster-domain.ts";
import { readActivatorConfig } from "./config.ts";
import { nameByCluster, nameByRoute } from "./core/name-revision.ts";
import { createLocalIdentity } from "./local-identity.ts";
import { createClusterIdentity } from "./pod-identity.ts";
import { RevisionLookup } from "./revision-lookup.ts";
import { openObserving } from "./open-observing.ts";
import { RouteFile } from "./route-table.ts";

/** The drain keeps its own, shorter limit, the longest request of the revisions in use. */
const STOP_DEADLINE_MS = 14 * 3_600_000;

await run();

async function run(): Promise<void> {
  const config = readActivatorConfig(withClusterDomain(process.env));
  const logger = createLogger({
    name: "activator",
    level: config.logLevel,
    fields: { activator: config.activatorName },
  });
  const { activatorId, storeUrl: url, storePrefix: prefix } = config;
  const store = createStore({ url, prefix, activatorId, logger });
  const runStore = createRunStore({
    url: config.asyncStoreUrl === "" ? url : config.asyncStoreUrl,
    prefix,
    logger,
    replicas: config.asyncReplicas,
  });
  const { observing, close: closeObserving } = openObserving(config, logger);
  const { naming, routes } = surroundings(config, logger);
  const cells = openCells(config, store, logger);
  const activator = await createActivator({
    config,
    store: cells?.watch(store.store) ?? store.store,
    cells,
    subscriber: store.subscriber,
    ranking: { workflows: store.workflows, knowledge: store.knowledge },
    runStore,
    ...(observing === undefined ? {} : { observing }),
    clock: systemClock,
    logger,
    ...naming,
  });
  const lifecycle = createLifecycle({
    logger,
    stopDeadlineMs: STOP_DEADLINE_MS,
    parts: [
      // Closed last: the drain gives slots back through it.
      { name: "store", stop: () => store.close() },
      { name: "run store", stop: () => runStore.close() },
      { name: "traces", stop: closeObserving },
      { name: "routes", start: () => routes?.start(), stop: () => routes?.stop() },
      {
        name: "activator",
        start: async () => announce(config, await activator.open(), logger),
        stop: () => activator.drain(),
      },
    ],
  });
  stopOnSignals(lifecycle, (code) => process.exit(code));
  stopWithParent(lifecycle);
  await lifecycle.start();
}

/** Undefined on a platform of one cell. */
function openCells(
  { activatorId }: ActivatorConfig,
  { store, cells: calls, subscriber }: StoreHandle,
  logger: Logger,
): ActivatorCells | undefined {
  const config = readCellConfig(process.env);
  if (config.cell === "") return undefined;
  const random = createRandom(randomInt(2 ** 32));
  return new ActivatorCells({ config, activatorId, store, calls, subscriber, random, logger });
}

interface Surroundings {
  readonly naming: Pick<ActivatorOptions, "identity" | "nameRevision" | "isRouted">;
  readonly routes: RouteFile | undefined;
}

function surroundings(config: ActivatorConfig, logger: Logger): Surroundings {
  if (config.runFolder === "") {
    const { apiUrl, accountFolder, clusterDomain } = config;
    const identity = createClusterIdentity({ apiUrl, accountFolder });
    const read = createApiReader({ apiUrl, accountFolder });
    const lookup = new RevisionLookup({ read, clock: systemClock, logger });
    const nameRevision = () => (request: Parameters<typeof nameByCluster>[0]) =>
      nameByCluster(request, clusterDomain);
    const isRouted: ActivatorOptions["isRouted"] = (revision) => lookup.mayExist(revision);
    return { naming: { identity, nameRevision, isRouted }, routes: undefined };
  }
  const routes = new RouteFile(config.runFolder, logger);
  const secret = readFileSync(join(config.runFolder, "secret"), "utf8");
  const identity = createLocalIdentity(config.runFolder, secret);
  const nameRevision: ActivatorOptions["nameRevision"] = (random) => (request) =>
    nameByRoute(routes.index, request.host, random());
  const isRouted: ActivatorOptions["isRouted"] = (revision) => routes.leadsTo(revision);
  return { naming: { identity, nameRevision, isRouted }, routes };
}

/** Tells who spawned us where we listen, once all ports are open. */
function announce(config: ActivatorConfig, listening: Listening, logger: Logger): void {
  logger.info("listening", { ...listening });
  process.send?.({ type: "listening", id: config.activatorName, ...listening });
}

/** A local run that was killed must not leave its activators behind. */
function stopWithParent(lifecycle: Lifecycle): void {
  if (process.send === undefined) return;
  process.on("disconnect", () => void lifecycle.stop("parent gone").then(() => process.exit(0)));
}
