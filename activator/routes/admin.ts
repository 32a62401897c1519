/** Health, metrics, and a look at what waits: for operators, tests and the command line. */
import type { FastifyInstance } from "fastify";
import { FIGURES_PATH, LATENCY_PHASES } from "../../common/contracts/activator-figures.ts";
import type {
  ActivatorFigures,
  LatencyPhase,
  PhaseTotals,
  RevisionTotals,
} from "../../common/contracts/activator-figures.ts";
import type { MetricsPage } from "../../foundation/metrics.ts";
import { BUCKETS_MS } from "../metrics.ts";
import type { RevisionEntry } from "../revision-entry.ts";
import type { Revisions } from "../revisions.ts";

export interface CellRoutes {
  /** What is known of other cells. */
  readonly view: () => unknown;
  /** Declares a cell lost; answers the pods that its shares allowed. */
  readonly forget: (cell: string) => Promise<number>;
}

export interface AdminRouteOptions {
  readonly metricsPage: MetricsPage;
  readonly revisions: Revisions;
  readonly activatorId: string;
  /** Empty while this process takes traffic. */
  readonly unready: () => string;
  /** The store is away; requests are served all the same. */
  readonly isDegraded: () => boolean;
  /** What is known of other cells; absent where there are none. */
  readonly cells?: CellRoutes | undefined;
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
  if (cells !== undefined) cellRoutes(app, cells);

  app.get(FIGURES_PATH, async (): Promise<ActivatorFigures> => {
    const degraded = options.isDegraded();
    return {
      activatorId,
      degraded,
      boundsMs: BUCKETS_MS,
      revisions: [...revisions.all()].map(totalsOf),
    };
  });

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

function totalsOf({ key, metrics, tickets, leases, pods }: RevisionEntry): RevisionTotals {
  const phases = LATENCY_PHASES.map((phase): [LatencyPhase, PhaseTotals] => {
    const { counts, sum } = metrics.histogram(phase);
    return [phase, { counts: [...counts], sumMs: sum }];
  });
  return {
    revision: key,
    waiting: tickets.size,
    running: leases.size,
    pods: pods.size,
    requests: metrics.counter("runs"),
    errors: Object.fromEntries(metrics.errors),
    // One entry for each of the phases.
    phases: Object.fromEntries(phases) as RevisionTotals["phases"],
  };
}

function cellRoutes(app: FastifyInstance, { view, forget }: CellRoutes): void {
  app.get("/v1/cells", async () => view());

  // Pods of tenants reach this port as well; whoever may forward a port to this process may ask.
  app.post<{ Params: { name: string } }>("/v1/cells/:name/forget", async (request, reply) => {
    if (!isLoopback(request.ip)) return reply.code(403).send({ reason: "forbidden" });
    return { pods: await forget(request.params.name) };
  });
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address);
}
