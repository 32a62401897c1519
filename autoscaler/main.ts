/**
 * The autoscaler process of a cluster: environment in, the controller wired to Kubernetes, life and
 * end of the process. Several may run; one leads each shard of revisions, the others stand by with
 * warm copies.
 */
import { Certificates } from "../cells/certificates.ts";
import { EVENT_SOURCE } from "../common/contracts/events.ts";
import { createRandom } from "../common/random.ts";
import { systemClock } from "../foundation/clock.ts";
import { createEventEmitter, httpEventSink } from "../foundation/events.ts";
import type { EventEmitter } from "../foundation/events.ts";
import { createLifecycle, stopOnSignals } from "../foundation/lifecycle.ts";
import { createLogger } from "../foundation/logger.ts";
import type { Logger } from "../foundation/logger.ts";
import { createMetricsPage } from "../foundation/metrics.ts";
import type { MetricsPage } from "../foundation/metrics.ts";
import { createStore } from "../store/store.ts";
import type { StoreHandle } from "../store/store.ts";
import { createCellParts } from "./cell-parts.ts";
import { createAdminServer } from "./admin-server.ts";
import { renderClusterMetrics } from "./cluster-metrics.ts";
import { readAutoscalerConfig } from "./config.ts";
import type { AutoscalerConfig } from "./config.ts";
import { STOCK_DEFAULTS } from "./core/settings/defaults.ts";
import { createElectedAutoscaler } from "./elected.ts";
import { tuneInThread } from "./tuner.ts";
import type { ElectedAutoscaler, ElectedOptions } from "./elected.ts";
import { openApi } from "./kubernetes/api.ts";
import type { ApiClient } from "./kubernetes/api-client.ts";
import { createCluster } from "./kubernetes/cluster.ts";
import type { Cluster } from "./kubernetes/cluster.ts";
import { renderMetrics } from "./metrics.ts";
import { systemTimers } from "./timers.ts";
import { joinViews } from "./view.ts";

/** Reconciles that run end within it; the lease is then given up for the next. */
const STOP_DEADLINE_MS = 20_000;

await run();

async function run(): Promise<void> {
  const config = readAutoscalerConfig(process.env);
  const { logLevel: level, holder } = config;
  const logger = createLogger({ name: "autoscaler", level, fields: { holder } });
  const client = await openApi({ ...config, clock: systemClock });
  const store = createStore({ url: config.storeUrl, prefix: config.storePrefix, logger });
  const events = openEvents(config, logger);
  const certificates =
    config.cell === "" ? null : new Certificates(config.cellCertificates, logger);
  const shared = { clock: systemClock, random: createRandom(process.pid), logger };
  const cluster: Cluster = createCluster({
    ...shared,
    client,
    timers: systemTimers,
    systemNamespace: config.systemNamespace,
    // What a key that no ConfigMap has means.
    base: STOCK_DEFAULTS,
    mayAct: (key) => elected.leads(key),
  });
  const { objects, scale, status, entrance, defaults, resourceUse: metricsSource } = cluster;
  const elected: ElectedAutoscaler = createElectedAutoscaler({
    ...shared,
    ...store,
    learning: { knowledge: store.knowledge, tune: tuneInThread },
    objects,
    scale,
    status,
    entrance,
    metricsSource,
    holder,
    shards: config.shards,
    defaults: defaults.current,
    events: {
      emit: (event) => {
        events?.emit(event);
        cluster.notes.emit(event);
      },
    },
    onLead: () => cluster.resync(),
    ...cellsOf(config, { certificates, store, cluster, logger }),
  });
  defaults.onChange((next) => elected.useDefaults(next));
  await live({ config, logger, client, store, events, certificates, cluster, elected });
}

/** Nothing on a platform of one cell. */
function cellsOf(
  { cell, cellsFolder, holder }: AutoscalerConfig,
  parts: Pick<Parts, "certificates" | "store" | "cluster" | "logger">,
): Pick<ElectedOptions, "openCells"> {
  const { certificates, store, cluster, logger } = parts;
  if (certificates === null) return {};
  return {
    openCells: (mayAct) =>
      createCellParts({
        own: cell,
        folder: cellsFolder,
        certificates,
        name: holder,
        calls: store.cells,
        logger,
        revisions: cluster.objects.list(),
        mayAct,
      }),
  };
}

interface Parts {
  readonly config: AutoscalerConfig;
  readonly logger: Logger;
  readonly client: ApiClient;
  readonly store: StoreHandle;
  readonly events: EventEmitter | null;
  /** Null on a platform of one cell. */
  readonly certificates: Certificates | null;
  readonly cluster: Cluster;
  readonly elected: ElectedAutoscaler;
}

async function live(parts: Parts): Promise<void> {
  const { config, logger, client, store, events, certificates, cluster, elected } = parts;
  const admin = createAdminServer({
    unready: () => cluster.unready(),
    metrics: metricsPage(cluster, elected),
  });
  const lifecycle = createLifecycle({
    logger,
    stopDeadlineMs: STOP_DEADLINE_MS,
    parts: [
      // Closed last: the leader gives its lease up through it.
      { name: "store", stop: () => store.close() },
      { name: "events", stop: () => events?.stop() },
      {
        name: "certificates",
        start: () => certificates?.start(),
        stop: () => certificates?.stop(),
      },
      {
        name: "admin",
        start: async () => announce(await admin.listen(config.adminListen), logger),
        stop: () => admin.close(),
      },
      { name: "api client", stop: () => client.close() },
      { name: "watches", start: () => cluster.start(), stop: () => cluster.stop() },
      {
        name: "controller",
        // Nobody leads before all has been seen once; health is asked meanwhile.
        start: () => void cluster.ready().then(() => elected.start()),
        stop: () => elected.stop(),
      },
    ],
  });
  stopOnSignals(lifecycle, (code) => process.exit(code));
  await lifecycle.start();
}

/** Tells who spawned us where we listen. */
function announce(url: string, logger: Logger): void {
  logger.info("listening", { url });
  process.send?.({ type: "listening", url });
}

/** The variable that a Knative SinkBinding sets; without it there are no CloudEvents. */
function openEvents(config: AutoscalerConfig, logger: Logger): EventEmitter | null {
  if (config.eventSink === "") return null;
  return createEventEmitter({
    source: EVENT_SOURCE,
    sink: httpEventSink(config.eventSink),
    logger,
  });
}

function metricsPage(cluster: Cluster, elected: ElectedAutoscaler): MetricsPage {
  const page = createMetricsPage();
  page.addCollector(() => {
    const views = [...elected.led().values()].map((autoscaler) => autoscaler.view());
    return renderMetrics(joinViews(views, systemClock.now()));
  });
  page.addCollector(() =>
    renderClusterMetrics({
      now: systemClock.now(),
      copies: cluster.stats(),
      leadingShards: elected.led().size,
      configFaults: cluster.defaults.faults.length,
      failingNetworks: cluster.failing(),
    }),
  );
  return page;
}
