/**
 * The environment that stock Knative gives every queue-proxy (contract 2.2), plus one variable of
 * ours: PILOTLIGHT_POD_ROOT, under which the pod's files lie.
 */
import type { Parser } from "../foundation/config.ts";
import { flag, integer, readConfig, text } from "../foundation/config.ts";
import type { LogLevel } from "../foundation/logger.ts";
import { LOG_LEVELS } from "../foundation/logger.ts";

export interface QueueProxyConfig {
  readonly namespace: string;
  readonly service: string;
  readonly configuration: string;
  readonly revision: string;
  readonly podName: string;
  readonly podIp: string;
  readonly systemNamespace: string;
  readonly servingPort: number;
  /** 0 = no limit. */
  readonly containerConcurrency: number;
  readonly timeoutSeconds: number;
  /** 0 = off. */
  readonly responseStartTimeoutSeconds: number;
  /** 0 = off. */
  readonly idleTimeoutSeconds: number;
  readonly userPort: number;
  /** JSON of the readiness probe, empty when there is none. */
  readonly readinessProbe: string;
  readonly http2AutoDetection: boolean;
  readonly logLevel: LogLevel;
  /** `undefined` in a cluster, where the files lie under `/` and DNS names the activators. */
  readonly podRoot: string | undefined;
}

const PORT = { min: 1, max: 65_535 };
const SECONDS = { min: 0, max: 2_147_483_647 };

export function readQueueProxyConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<QueueProxyConfig> {
  return readConfig<QueueProxyConfig>(env, {
    namespace: ["SERVING_NAMESPACE", text()],
    service: ["SERVING_SERVICE", text("")],
    configuration: ["SERVING_CONFIGURATION", text()],
    revision: ["SERVING_REVISION", text()],
    podName: ["SERVING_POD", text()],
    podIp: ["SERVING_POD_IP", text()],
    systemNamespace: ["SYSTEM_NAMESPACE", text("knative-serving")],
    servingPort: ["QUEUE_SERVING_PORT", integer(PORT)],
    containerConcurrency: ["CONTAINER_CONCURRENCY", integer({ min: 0, max: 2_147_483_647 })],
    timeoutSeconds: ["REVISION_TIMEOUT_SECONDS", integer(SECONDS)],
    responseStartTimeoutSeconds: [
      "REVISION_RESPONSE_START_TIMEOUT_SECONDS",
      integer({ ...SECONDS, fallback: 0 }),
    ],
    idleTimeoutSeconds: ["REVISION_IDLE_TIMEOUT_SECONDS", integer({ ...SECONDS, fallback: 0 })],
    userPort: ["USER_PORT", integer(PORT)],
    readinessProbe: ["SERVING_READINESS_PROBE", text("")],
    http2AutoDetection: ["ENABLE_HTTP2_AUTO_DETECTION", flag()],
    logLevel: ["SERVING_LOGGING_LEVEL", zapLevel()],
    podRoot: ["PILOTLIGHT_POD_ROOT", optionalText()],
  });
}

/** Ports are bound on the pod's own address when it is a loopback one, else on all interfaces. */
export function bindHost(podIp: string): string {
  if (podIp.startsWith("127.")) return podIp;
  return podIp.includes(":") ? "::" : "0.0.0.0";
}

function optionalText(): Parser<string | undefined> {
  return (value) => (value === undefined || value === "" ? undefined : value);
}

/** Knative names levels as its logging library does; what we lack becomes the nearest we have. */
function zapLevel(): Parser<LogLevel> {
  return (value) => {
    const word = (value ?? "").toLowerCase();
    if (word === "warning") return "warn";
    if (["dpanic", "panic", "fatal"].includes(word)) return "error";
    return LOG_LEVELS.find((level) => level === word) ?? "info";
  };
}
