/** Health, metrics and decisions of a process of a cluster; it does not listen by itself. */
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";

export interface AdminServerOptions {
  /** Why this process is not ready; empty while it is. */
  readonly unready: () => string;
  readonly metrics: {
    readonly contentType: string;
    render(): Promise<string>;
  };
}

export function createAdminServer(options: AdminServerOptions): FastifyInstance {
  const app = fastify({ forceCloseConnections: true });

  app.get("/healthz", async () => ({ status: "ok" }));

  app.get("/readyz", async (_request, reply) => {
    const reason = options.unready();
    if (reason !== "") return reply.code(503).send({ status: "not ready", reason });
    return { status: "ok" };
  });

  app.get("/metrics", async (_request, reply) => {
    return reply.type(options.metrics.contentType).send(await options.metrics.render());
  });
  return app;
}
