/** Health, metrics, and a look at what waits: for operators, tests and the command line. */
import type { FastifyInstance } from "fastify";
import type { MetricsPage } from "../../foundation/metrics.ts";
import type { Revisions } from "../revisions.ts";

export interface AdminRouteOptions {
  readonly metricsPage: MetricsPage;
  readonly revisions: Revisions;
  readonly activatorId: string;
  /** Empty while this process takes traffic. */
  readonly unready: () => string;
  /** The store is away; requests are served all the same. */
  readonly isDegraded: () => boolean;
  /** What is known of other cells; absent where there are none. */
  readonly cells?: (() => unknown) | undefined;
}

export async function adminRoutes(app: FastifyInstance, options: AdminRouteOptions): Promise<void> {
  const { metricsPage, revisions, activatorId } = options;

  app.get("/healthz", async () => ({ status: "ok" }));

  app.get("/readyz", async (_request, reply) => {
    const reason = options.unready();
    if (reason !== "") return reply.code(503).send({ status: "not ready", reason });
    return { status: "ok", degraded: options.isDegraded() };
  });

  app.get("/metrics", async (_request, reply) => {
    return reply.type(metricsPage.contentType).send(await metricsPage.render());
  });

  const { cells } = options;
  if (cells !== undefined) app.get("/v1/cells", async () => cells());

  app.get("/v1/waiting", async () => ({
    activatorId,
    revisions: [...revisions.all()].map((entry) => ({
      revision: entry.key,
      waiting: entry.tickets.size,
      running: entry.leases.size,
      pods: entry.pods.size,
    })),
  }));
}
