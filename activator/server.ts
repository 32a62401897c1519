/** The push and admin server of an activator, built from its parts; it does not listen. */
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import type { AdminRouteOptions } from "./routes/admin.ts";
import { adminRoutes } from "./routes/admin.ts";
import type { PushRouteOptions } from "./routes/push.ts";
import { pushRoutes } from "./routes/push.ts";

/** Longer than the longest heartbeat period, so that a push connection is never closed by us. */
const KEEP_ALIVE_MS = 90_000;

export interface PushServerOptions {
  readonly push: PushRouteOptions;
  readonly admin: AdminRouteOptions;
}

export async function createPushServer(options: PushServerOptions): Promise<FastifyInstance> {
  // Pushes end with their connection, so a stop need not wait for the sidecars to leave.
  const app = fastify({ keepAliveTimeout: KEEP_ALIVE_MS, forceCloseConnections: true });
  await app.register(pushRoutes, options.push);
  await app.register(adminRoutes, options.admin);
  return app;
}
