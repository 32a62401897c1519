/** The push side: takes what queue-proxies say, and counts what it refuses. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { MAX_SAMPLES, PUSH_PATH } from "../../common/contracts/push.ts";
import type { PushReport } from "../../common/contracts/push.ts";
import { PlatformError, errorText } from "../../common/errors.ts";
import type { ErrorCode } from "../../common/errors.ts";
import { systemClock } from "../../foundation/clock.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { PushIntake } from "../push-intake.ts";
import { RefusalLog } from "../refusal-log.ts";

const text = (maxLength: number) => ({ type: "string", maxLength });
const count = { type: "integer", minimum: 0 };
const leaseIds = { type: "array", maxItems: 1_024, items: text(256) };

const measured = { type: "number", minimum: 0 };
/** As `CallSample`: figures from a pod that the platform learns by. */
const SAMPLE_SCHEMA = {
  type: "object",
  required: ["stage", "promptTokens", "outputTokens", "totalMs", "meanBatch"],
  properties: {
    model: text(256),
    stage: text(128),
    workflowClass: text(128),
    promptTokens: { type: "integer", minimum: -1 },
    cachedTokens: count,
    outputTokens: { type: "integer", minimum: -1 },
    characters: count,
    messages: count,
    firstMs: measured,
    totalMs: measured,
    meanBatch: measured,
  },
} as const;

/** As `PushReport`; more fields are allowed, so that a newer sidecar can speak to us. */
const REPORT_SCHEMA = {
  type: "object",
  required: [
    "kind",
    "revision",
    "podUid",
    "podName",
    "boot",
    "sequence",
    "state",
    "reason",
    "address",
    "port",
    "capacity",
    "inFlight",
    "occupied",
    "reportsRunning",
    "asked",
    "running",
    "build",
    "marks",
  ],
  properties: {
    kind: { enum: ["hello", "change", "heartbeat", "goodbye"] },
    revision: { ...text(512), pattern: "^[^/]+/[^/]+$" },
    podUid: { ...text(64), minLength: 1 },
    podName: text(253),
    boot: { ...count, minimum: 1 },
    sequence: count,
    state: { enum: ["starting", "ready", "unready", "draining"] },
    reason: text(512),
    address: { ...text(64), minLength: 1 },
    port: { ...count, minimum: 1, maximum: 65_535 },
    capacity: count,
    inFlight: count,
    occupied: count,
    reportsRunning: { type: "boolean" },
    asked: leaseIds,
    running: leaseIds,
    build: text(128),
    marks: { type: "object", additionalProperties: { type: "number" } },
    kvFreeTokens: count,
    batch: count,
    localWaiting: count,
    localWorkUs: count,
    samples: { type: "array", maxItems: MAX_SAMPLES, items: SAMPLE_SCHEMA },
  },
} as const;

const BODY_LIMIT_BYTES = 512 * 1024;

/** Refusals by code; the rest is our own fault and answered as such. */
const STATUS: Partial<Record<ErrorCode, readonly [status: number, reason: string]>> = {
  ERR_TOKEN_INVALID: [401, "unauthenticated"],
  ERR_PUSH_REFUSED: [403, "forbidden"],
  ERR_POD_UNKNOWN: [403, "forbidden"],
  ERR_STORE_UNAVAILABLE: [503, "store_unavailable"],
  ERR_API_UNAVAILABLE: [503, "api_unavailable"],
};
const INTERNAL = [500, "internal"] as const;

export interface PushCounters {
  accepted: number;
  readonly refused: Map<string, number>;
}

export interface PushRouteOptions {
  readonly intake: PushIntake;
  readonly counters: PushCounters;
  readonly logger: Logger;
}

export async function pushRoutes(app: FastifyInstance, options: PushRouteOptions): Promise<void> {
  const { intake, counters } = options;
  const refusals = new RefusalLog(systemClock, options.logger);
  app.setErrorHandler((error, request, reply) => {
    const from = request.raw.socket.remoteAddress ?? "";
    return refuse(reply, error, { ...options, log: (why) => refusals.refused(why, from, error) });
  });
  app.post(
    PUSH_PATH,
    { schema: { body: REPORT_SCHEMA }, bodyLimit: BODY_LIMIT_BYTES },
    async (request, reply) => {
      const answer = await intake.receive({
        token: bearerOf(request.headers.authorization),
        // The schema above is this type.
        report: request.body as PushReport,
        socket: request.raw.socket,
      });
      counters.accepted += 1;
      return reply.send(answer);
    },
  );
}

function bearerOf(header: string | undefined): string {
  const [scheme, token] = (header ?? "").split(" ");
  if (scheme?.toLowerCase() !== "bearer" || token === undefined || token === "") {
    throw new PlatformError("ERR_TOKEN_INVALID", "A push needs the pod's token.");
  }
  return token;
}

interface Refusal extends PushRouteOptions {
  readonly log: (reason: string) => void;
}

function refuse(reply: FastifyReply, error: unknown, options: Refusal): FastifyReply {
  const { counters, logger, log } = options;
  const [status, reason] = refusalOf(error);
  counters.refused.set(reason, (counters.refused.get(reason) ?? 0) + 1);
  if (status === 500) logger.error("push failed", { error });
  else log(reason);
  const message = status === 500 ? "internal error" : errorText(error);
  return reply.code(status).send({ reason, message });
}

function refusalOf(error: unknown): readonly [status: number, reason: string] {
  if (error instanceof PlatformError) return STATUS[error.code] ?? INTERNAL;
  // Faults that the server itself found in the request: its shape, its size, its type.
  const status = (error as { readonly statusCode?: unknown } | null)?.statusCode;
  const isCallers = typeof status === "number" && status >= 400 && status < 500;
  return isCallers ? [status, "malformed_request"] : INTERNAL;
}

export function renderPushMetrics(counters: PushCounters, pods: number): string {
  const lines = [
    "# HELP pilotlight_pushes_total Pushes that were accepted.",
    "# TYPE pilotlight_pushes_total counter",
    `pilotlight_pushes_total ${counters.accepted}`,
    "# HELP pilotlight_pushes_refused_total Pushes that were refused, by reason.",
    "# TYPE pilotlight_pushes_refused_total counter",
  ];
  for (const [reason, refused] of counters.refused) {
    lines.push(`pilotlight_pushes_refused_total{reason="${reason}"} ${refused}`);
  }
  lines.push(
    "# HELP pilotlight_pushing_pods Pods that push to this activator.",
    "# TYPE pilotlight_pushing_pods gauge",
    `pilotlight_pushing_pods ${pods}`,
    "",
  );
  return lines.join("\n");
}
