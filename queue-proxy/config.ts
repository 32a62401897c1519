/**
 * The environment that stock Knative gives every queue-proxy (contract 2.2), plus two variables of
 * ours: PILOTLIGHT_POD_ROOT, under which the pod's files lie, and PILOTLIGHT_PROXY_FRONT.
 */
import type { Parser } from "../foundation/config.ts";
import { flag, integer, oneOf, readConfig, text } from "../foundation/config.ts";
import type { LogLevel } from "../foundation/logger.ts";
import { LOG_LEVELS } from "../foundation/logger.ts";
import type { TlsSettings } from "../proxy/tls-port.ts";
import type { FrontForm } from "../proxy/types.ts";
import { FRONT_FORMS } from "../proxy/types.ts";
import type { Observability } from "./observability.ts";
import { parseObservability } from "./observability.ts";

export interface QueueProxyConfig {
  readonly namespace: string;
  readonly service: string;
  readonly configuration: string;
  readonly revision: string;
  readonly podName: string;
  readonly podIp: string;
  readonly systemNamespace: string;
  readonly servingPort: number;
  /** Served when the pod has a certificate. */
  readonly servingTlsPort: number;
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
  readonly tls: TlsSettings;
  readonly observability: Observability;
  readonly logLevel: LogLevel;
  /** `undefined` in a cluster, where the files lie under `/` and DNS names the activators. */
  readonly podRoot: string | undefined;
  /** Who reads HTTP/1.1 requests: Node's server or our own. */
  readonly proxyFront: FrontForm;
}

interface FlatConfig extends Omit<QueueProxyConfig, "tls"> {
  readonly tlsMinVersion: string;
  readonly tlsMaxVersion: string;
  readonly tlsCipherSuites: string;
  readonly tlsCurves: string;
}

const PORT = { min: 1, max: 65_535 };
const TLS_VERSIONS = ["", "1.2", "1.3"] as const;
const SECONDS = { min: 0, max: 2_147_483_647 };

export function readQueueProxyConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<QueueProxyConfig> {
  const { tlsMinVersion, tlsMaxVersion, tlsCipherSuites, tlsCurves, ...flat } =
    readConfig<FlatConfig>(env, {
      namespace: ["SERVING_NAMESPACE", text()],
      service: ["SERVING_SERVICE", text("")],
      configuration: ["SERVING_CONFIGURATION", text()],
      revision: ["SERVING_REVISION", text()],
      podName: ["SERVING_POD", text()],
      podIp: ["SERVING_POD_IP", text()],
      systemNamespace: ["SYSTEM_NAMESPACE", text("knative-serving")],
      servingPort: ["QUEUE_SERVING_PORT", integer(PORT)],
      servingTlsPort: ["QUEUE_SERVING_TLS_PORT", integer({ ...PORT, fallback: 8_112 })],
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
      observability: ["OBSERVABILITY_CONFIG", parseObservability],
      tlsMinVersion: ["QUEUE_PROXY_TLS_MIN_VERSION", oneOf(TLS_VERSIONS, "")],
      tlsMaxVersion: ["QUEUE_PROXY_TLS_MAX_VERSION", oneOf(TLS_VERSIONS, "")],
      tlsCipherSuites: ["QUEUE_PROXY_TLS_CIPHER_SUITES", text("")],
      tlsCurves: ["QUEUE_PROXY_TLS_CURVE_PREFERENCES", text("")],
      podRoot: ["PILOTLIGHT_POD_ROOT", optionalText()],
      proxyFront: ["PILOTLIGHT_PROXY_FRONT", oneOf(FRONT_FORMS, "raw")],
    });
  const tls = {
    minVersion: tlsMinVersion,
    maxVersion: tlsMaxVersion,
    cipherSuites: tlsCipherSuites,
    curves: tlsCurves,
  };
  return Object.freeze({ ...flat, tls });
}

/**
 * Ports are bound on the pod's own address when it is a loopback one, else on all of both families:
 * undefined, since Node looks at a named address with an expression that takes 4 ms to compile.
 */
export function bindHost(podIp: string): string | undefined {
  return podIp.startsWith("127.") ? podIp : undefined;
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
