/** How others find a running platform: the dashboard, and `run.json` for the command line. */
import { renderMetrics } from "../autoscaler/metrics.ts";
import type { RunRecord } from "../common/contracts/local-run.ts";
import { createDashboard } from "../dashboard/server.ts";
import { systemClock } from "../foundation/clock.ts";
import { createRunStore } from "../store/run-calls.ts";
import type { RunStore } from "../store/run-types.ts";
import { activatorFigures, readCellsPage } from "./activator-figures.ts";
import { findFreePort } from "./addresses.ts";
import { readCardPrices } from "../common/card-prices.ts";
import type { Control } from "./control.ts";
import { activatorFacts, scalerFacts, serviceFacts } from "./dashboard-facts.ts";
import { readVersion } from "./defaults.ts";
import type { PlatformUrls } from "./platform-types.ts";
import { RUN_FILES } from "./run-folder.ts";
import { HOST } from "./serving.ts";
import type { Serving } from "./serving.ts";

export async function announce(
  serving: Serving,
  control: Control,
  dashboardPort: number | null,
): Promise<PlatformUrls> {
  const { base } = serving;
  const startedAt = systemClock.now();
  const ingress = `http://${HOST}:${serving.port}`;
  const runs = openRuns(base);
  const cardPrices = readCardPrices(base.env["PILOTLIGHT_CARD_PRICES"] ?? "");
  const dashboard = createDashboard({
    clock: systemClock,
    logger: base.logger,
    run: {
      mode: "local",
      startedAt,
      ingressUrl: ingress,
      storeUrl: withoutPassword(base.server.url),
      version: readVersion(),
      ...(cardPrices === undefined ? {} : { cardPrices }),
    },
    services: () => serviceFacts(serving.summaries(), serving.book),
    store: base.store.store,
    scaler: (key) => scalerFacts(control.autoscaler, key),
    activators: () => activatorFacts(serving.activators),
    figures: () => activatorFigures(serving.activators.records()),
    runs: (service, most) => runs.list(service, most),
    workflows: {
      recent: (most) => base.store.knowledge.recentWorkflows(most),
      read: (workflow) => base.store.workflows.readWorkflow(workflow),
    },
    ...(base.cell === undefined
      ? {}
      : { cells: () => readCellsPage(serving.activators.records()) }),
    metrics: () => renderMetrics(control.autoscaler.view()),
  });
  const port = await findFreePort(HOST, dashboardPort ?? serving.port + 1);
  await dashboard.listen({ host: HOST, port });
  base.stops.add("dashboard", () => dashboard.close());
  const urls = { ingress, dashboard: `http://${HOST}:${port}` };
  const write = (): Promise<void> =>
    base.folder.writeJson(RUN_FILES.run, runRecord(serving, control, { urls, startedAt }));
  await write();
  // What was started again has another process id or port; the last write of a run may come too late.
  const rewrite = (): void => void write().catch(() => undefined);
  serving.onActivators.add(rewrite);
  base.server.onRestart(rewrite);
  control.sources.onFiles.add(rewrite);
  return urls;
}

/** For reading only. */
function openRuns({ server, storePrefix: prefix, logger, stops }: Serving["base"]): RunStore {
  const runs = createRunStore({ url: server.url, prefix, logger, replicas: 0 });
  stops.add("run store", () => Promise.resolve(runs.close()));
  return runs;
}

function runRecord(
  serving: Serving,
  control: Control,
  at: { readonly urls: PlatformUrls; readonly startedAt: number },
): RunRecord {
  const { base, activators } = serving;
  return {
    pid: process.pid,
    startedAt: at.startedAt,
    ingressUrl: at.urls.ingress,
    dashboardUrl: at.urls.dashboard,
    storeUrl: base.server.url,
    storePrefix: base.storePrefix,
    ...(base.cell === undefined ? {} : { cell: base.cell.name }),
    storePid: base.server.pid,
    activators: activators.records(),
    controlSocket: control.socket,
    files: control.sources.files,
  };
}

export function withoutPassword(url: string): string {
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  return parsed.toString();
}
