/** The side of an activator for pods and operators: pushes, health, and the pages of its figures. */
import type { FastifyInstance } from "fastify";
import { createMetricsPage } from "../foundation/metrics.ts";
import type { ActivatorOptions, Health } from "./activator.ts";
import type { DegradedMode } from "./degraded.ts";
import { renderEntranceMetrics } from "./entrance.ts";
import type { EntranceCounters } from "./entrance.ts";
import { renderMetrics } from "./metrics.ts";
import type { PushIntake } from "./push-intake.ts";
import type { RankingParts } from "./ranking-parts.ts";
import type { Revisions } from "./revisions.ts";
import { renderPushMetrics } from "./routes/push.ts";
import type { PushCounters } from "./routes/push.ts";
import { createPushServer } from "./server.ts";
import { cellRoutesOf, renderCells } from "./spills/cell-page.ts";

export interface Shown {
  readonly ranking: RankingParts | null;
  readonly revisions: Revisions;
  readonly intake: PushIntake;
  readonly degraded: DegradedMode;
  readonly entrance: EntranceCounters;
}

export function buildPushServer(
  options: ActivatorOptions,
  health: Health,
  shown: Shown,
): Promise<FastifyInstance> {
  const { logger, config } = options;
  const { revisions, intake, degraded, entrance } = shown;
  const counters: PushCounters = { accepted: 0, refused: new Map() };
  const metricsPage = createMetricsPage();
  metricsPage.addCollector(() => renderRevisions(revisions));
  metricsPage.addCollector(() => renderEntranceMetrics(entrance));
  metricsPage.addCollector(() => renderPushMetrics(counters, intake.pods));
  metricsPage.addCollector(() => renderDegraded(degraded));
  metricsPage.addCollector(() => shown.ranking?.log.render() ?? "");
  const { cells } = options;
  if (cells !== undefined) metricsPage.addCollector(() => renderCells(cells));
  return createPushServer({
    push: { intake, counters, logger },
    admin: {
      metricsPage,
      revisions,
      activatorId: config.activatorName,
      unready: () => health.stopping,
      isDegraded: () => degraded.active,
      cells: cells === undefined ? undefined : cellRoutesOf(cells),
    },
  });
}

function renderRevisions(revisions: Revisions): string {
  return renderMetrics(
    [...revisions.all()].map(({ metrics, tickets, leases }) => ({
      metrics,
      waiting: tickets.size,
      running: leases.size,
    })),
  );
}

function renderDegraded(degraded: DegradedMode): string {
  const series = "pilotlight_degraded";
  return [
    `# HELP ${series} 1 while the store is away and each activator serves its own pods only.`,
    `# TYPE ${series} gauge`,
    `${series} ${degraded.active ? 1 : 0}`,
    "",
  ].join("\n");
}
