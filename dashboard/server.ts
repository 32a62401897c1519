/**
 * The dashboard's server: a read-only JSON API, one event stream, and the page as static files.
 * It opens no port until `listen`, changes nothing anywhere, and needs no network.
 */
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import Fastify from "fastify";
import type { FastifyError, FastifyInstance } from "fastify";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { DashboardParts } from "./ports.ts";
import { Sampler } from "./sampler.ts";
import { createStreamHub } from "./stream.ts";
import type { StreamHub } from "./stream.ts";

const PAGE_FOLDER = fileURLToPath(new URL("./page/", import.meta.url));

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Everything comes from this server; nothing may be framed or sent elsewhere. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Answers an instance that does not listen: call `listen({ host, port })`, later `close()`. */
export function createDashboard(parts: DashboardParts): FastifyInstance {
  const sampler = new Sampler(parts);
  const hub = createStreamHub(sampler);
  const app = Fastify({ logger: false, bodyLimit: 1_024, forceCloseConnections: true });

  app.addHook("onReady", async () => sampler.start());
  app.addHook("preClose", async () => hub.close());
  app.addHook("onClose", async () => sampler.stop());
  app.addHook("onSend", async (_request, reply) => void reply.headers(SECURITY_HEADERS));
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    if (error.validation !== undefined) {
      return reply.code(400).send({ reason: "invalid_query", message: error.message });
    }
    parts.logger.error("dashboard request failed", { error });
    return reply.code(500).send({ reason: "internal", message: "The dashboard could not answer." });
  });

  const { metrics, records } = parts;
  void app.register(apiRoutes, { prefix: "/api", sampler, hub, records });
  if (metrics !== undefined) {
    app.get("/metrics", (_request, reply) => reply.type(METRICS_TYPE).send(metrics()));
  }
  void app.register(fastifyStatic, {
    root: PAGE_FOLDER,
    // Files of a run may change with the next version; ETags make the check cheap.
    cacheControl: false,
    setHeaders: (reply) => void reply.header("cache-control", "no-cache"),
    // Types and their configuration lie beside the page's modules and are no part of it.
    allowedPath: (path) => !/\.(ts|json)$/.test(path),
  });
  return app;
}

interface ApiParts {
  readonly sampler: Sampler;
  readonly hub: StreamHub;
  readonly records: DashboardParts["records"];
}

const ANY_OBJECT = { type: "object", additionalProperties: true } as const;

/** `namespace/name`, as Kubernetes permits them. */
const RECORDS_QUERY = {
  type: "object",
  required: ["revision"],
  properties: { revision: { type: "string", pattern: "^[a-z0-9.-]{1,253}/[a-z0-9.-]{1,253}$" } },
} as const;

async function apiRoutes(app: FastifyInstance, parts: ApiParts): Promise<void> {
  const { sampler, hub, records } = parts;
  app.addHook("onSend", async (_request, reply) => void reply.header("cache-control", "no-store"));
  app.get("/snapshot", { schema: { response: { 200: ANY_OBJECT } } }, () => sampler.latest());
  app.get("/history", { schema: { response: { 200: ANY_OBJECT } } }, () => sampler.history());
  app.get("/stream", (_request, reply) => {
    if (!hub.open(reply.raw)) {
      return reply.code(503).header("retry-after", "5").send({
        reason: "too_many_streams",
        message: "Too many open streams; poll /api/snapshot instead.",
      });
    }
    return reply.hijack();
  });
  if (records === undefined) return;
  app.get<{ Querystring: { readonly revision: RevisionKey } }>(
    "/records",
    { schema: { querystring: RECORDS_QUERY, response: { 200: ANY_OBJECT } } },
    (request) => records(request.query.revision),
  );
}
