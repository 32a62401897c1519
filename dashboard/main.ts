/**
 * The dashboard process of a cluster: environment in, the page wired to the API server and the
 * store, life and end of the process. It reads only; any number may run, and none is needed for
 * anything else to work.
 */
import type { FastifyInstance } from "fastify";
import { createAdminServer } from "../autoscaler/admin-server.ts";
import { openApi } from "../autoscaler/kubernetes/api.ts";
import { readCardPrices } from "../common/card-prices.ts";
import { systemClock } from "../foundation/clock.ts";
import type { Address } from "../foundation/listen-address.ts";
import { createLifecycle, stopOnSignals } from "../foundation/lifecycle.ts";
import { createLogger } from "../foundation/logger.ts";
import type { Logger } from "../foundation/logger.ts";
import { createMetricsPage } from "../foundation/metrics.ts";
import { createRunStore } from "../store/run-calls.ts";
import { createStore } from "../store/store.ts";
import type { StoreHandle } from "../store/store.ts";
import { activatorCells, activatorFigures } from "./cluster/activator-figures.ts";
import { readDashboardConfig } from "./cluster/config.ts";
import type { DashboardConfig } from "./cluster/config.ts";
import { activatorFacts, scalerFacts, serviceFacts } from "./cluster/facts.ts";
import { RecordKeeper } from "./cluster/records.ts";
import { watchCluster } from "./cluster/watched.ts";
import type { Watched } from "./cluster/watched.ts";
import type { DashboardParts } from "./ports.ts";
import { createDashboard } from "./server.ts";

const STOP_DEADLINE_MS = 10_000;

await run();

async function run(): Promise<void> {
  const config = readDashboardConfig(process.env);
  const logger = createLogger({ name: "dashboard", level: config.logLevel });
  const client = await openApi({ ...config, clock: systemClock });
  const store = createStore({ url: config.storeUrl, prefix: config.storePrefix, logger });
  const runs = createRunStore({
    url: config.asyncStoreUrl || config.storeUrl,
    prefix: config.storePrefix,
    logger,
    replicas: 0,
  });
  const watched = watchCluster({ ...config, client, clock: systemClock, logger });
  const keys = (): readonly `${string}/${string}`[] =>
    watched.services().flatMap(({ revisions }) => revisions.map(({ key }) => key));
  const records = new RecordKeeper({ store, keys, logger });
  const page = createDashboard({
    ...partsOf({ config, logger, store, watched, records }),
    runs: (service, most) => runs.list(service, most),
  });
  const admin = createAdminServer({
    unready: () => watched.unready(),
    metrics: createMetricsPage(),
  });
  const lifecycle = createLifecycle({
    logger,
    stopDeadlineMs: STOP_DEADLINE_MS,
    parts: [
      { name: "store", stop: () => store.close() },
      { name: "run store", stop: () => runs.close() },
      listener("admin", admin, config.adminListen, logger),
      { name: "api client", stop: () => client.close() },
      { name: "watches", start: () => watched.start(), stop: () => watched.stop() },
      { name: "records", start: () => records.start(), stop: () => records.stop() },
      listener("page", page, config.listen, logger),
    ],
  });
  stopOnSignals(lifecycle, (code) => process.exit(code));
  await lifecycle.start();
}

interface Sources {
  readonly config: DashboardConfig;
  readonly logger: Logger;
  readonly store: StoreHandle;
  readonly watched: Watched;
  readonly records: RecordKeeper;
}

function partsOf({ config, logger, store, watched, records }: Sources): DashboardParts {
  const prices = readCardPrices(config.cardPrices);
  // Asked for first in each sample; what they want is looked up from the same look.
  let wanted = new Map<string, number>();
  const services = (): ReturnType<DashboardParts["services"]> => {
    const seen = watched.services();
    const revisions = seen.flatMap((service) => service.revisions);
    wanted = new Map(revisions.map(({ key, desiredScale }) => [key, desiredScale]));
    return serviceFacts(seen);
  };
  return {
    clock: systemClock,
    logger,
    run: {
      mode: "cluster",
      startedAt: systemClock.now(),
      // Each service has a URL of its own there.
      ingressUrl: "",
      storeUrl: withoutPassword(config.storeUrl),
      version: "",
      ...(prices === undefined ? {} : { cardPrices: prices }),
    },
    services,
    store: store.store,
    scaler: (key) => {
      const known = records.of(key);
      return known === undefined ? undefined : scalerFacts(known, wanted.get(key) ?? 0);
    },
    activators: () => activatorFacts(watched.activators()),
    figures: () => activatorFigures(watched.activators()),
    cells: () => activatorCells(watched.activators()),
    workflows: {
      recent: (most) => store.knowledge.recentWorkflows(most),
      read: (workflow) => store.workflows.readWorkflow(workflow),
    },
    records: (key) => records.read(key),
  };
}

/** Tells who spawned us where each of them listens. */
function listener(name: string, app: FastifyInstance, at: Address, logger: Logger) {
  return {
    name,
    start: async (): Promise<void> => {
      const url = await app.listen(at);
      logger.info("listening", { name, url });
      process.send?.({ type: "listening", name, url });
    },
    stop: (): Promise<void> => app.close(),
  };
}

/** A list of Sentinels is no URL of one host, so the text is cut and not parsed. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, "//");
}
