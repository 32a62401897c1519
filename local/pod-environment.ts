/**
 * Environments of the two processes of a pod: the sidecar's is the one that the Knative controller
 * gives it, the container's is what the kubelet and Knative add to the user's own.
 */
import type { PodPlace, PodPlan } from "./pod-types.ts";
import type { Probe } from "./service-types.ts";

const SYSTEM_NAMESPACE = "knative-serving";

export const PROXY_PORTS = { http1: 8012, h2c: 8013 } as const;
export const SIDECAR_ADMIN_PORT = 8022;

/** What the sidecar needs beyond its pod: where Node keeps compiled sources, and the gate's port. */
export interface SidecarExtras {
  readonly compileCache: string;
  readonly gatePort: number;
  readonly path: string;
  /** Where traces go; absent: nowhere. */
  readonly tracing?: LocalTracing;
}

export interface LocalTracing {
  readonly endpoint: string;
  readonly samplingRate: number;
}

/** As the operator says it for the activators. */
export function localTracing(
  env: Readonly<Record<string, string | undefined>>,
): LocalTracing | undefined {
  const endpoint = env["PILOTLIGHT_TRACING_ENDPOINT"] ?? "";
  if (endpoint === "") return undefined;
  return { endpoint, samplingRate: Number(env["PILOTLIGHT_TRACING_SAMPLING_RATE"] ?? "1") };
}

function observability(tracing: LocalTracing | undefined): string {
  return JSON.stringify({
    tracing:
      tracing === undefined ? { protocol: "none" } : { protocol: "http/protobuf", ...tracing },
    metrics: { protocol: "none" },
    runtime: { profiling: "disabled", exportInterval: 15_000_000_000 },
    requestMetrics: { protocol: "none" },
  });
}

export function sidecarEnvironment(
  plan: PodPlan,
  place: PodPlace,
  extras: SidecarExtras,
): Record<string, string> {
  const { template } = plan;
  const { container } = template;
  const fullDuplex = template.annotations["features.knative.dev/http-full-duplex"] ?? "";
  const probe = probeJson(plan, place, extras.gatePort);
  return {
    PATH: extras.path,
    NODE_COMPILE_CACHE: extras.compileCache,
    SERVING_NAMESPACE: plan.namespace,
    SERVING_SERVICE: plan.service,
    SERVING_CONFIGURATION: plan.configuration,
    SERVING_REVISION: plan.revision,
    QUEUE_SERVING_PORT: String(PROXY_PORTS[container.protocol]),
    QUEUE_SERVING_TLS_PORT: "8112",
    CONTAINER_CONCURRENCY: String(template.containerConcurrency),
    REVISION_TIMEOUT_SECONDS: String(template.timeoutSeconds),
    REVISION_RESPONSE_START_TIMEOUT_SECONDS: String(template.responseStartTimeoutSeconds),
    REVISION_IDLE_TIMEOUT_SECONDS: String(template.idleTimeoutSeconds),
    SERVING_POD: place.name,
    SERVING_POD_IP: place.address,
    SERVING_LOGGING_CONFIG: "",
    SERVING_LOGGING_LEVEL: "",
    USER_PORT: String(place.userPort),
    SYSTEM_NAMESPACE,
    SERVING_READINESS_PROBE: JSON.stringify(probe),
    HOST_IP: "127.0.0.1",
    ENABLE_HTTP2_AUTO_DETECTION: "false",
    ENABLE_HTTP_FULL_DUPLEX: String(fullDuplex.toLowerCase() === "enabled"),
    ROOT_CA: "",
    ENABLE_MULTI_CONTAINER_PROBES: String(Array.isArray(probe)),
    OBSERVABILITY_CONFIG: observability(extras.tracing),
    PILOTLIGHT_POD_ROOT: place.root,
  };
}

/** Needs the platform's word beside the sidecar's own probe: the sidecar cannot see these. */
export function needsGate(plan: PodPlan): boolean {
  const { readiness, startup } = plan.template.container;
  return startup !== null || readiness.handler.kind === "exec";
}

/** The probe as Knative hands it to the sidecar; with a gate, its answer is one more probe. */
function probeJson(plan: PodPlan, place: PodPlace, gatePort: number): unknown {
  const own = rewrittenProbe(plan.template.container.readiness, place.userPort);
  if (!needsGate(plan)) return own;
  const gate = { path: `/pods/${place.uid}`, port: gatePort, host: "127.0.0.1", scheme: "HTTP" };
  return [own, { httpGet: gate, successThreshold: 1, failureThreshold: 1 }];
}

function rewrittenProbe(probe: Probe, userPort: number): unknown {
  // Knative lifts a timeout below a second once a period is set.
  const timeoutSeconds =
    probe.periodSeconds > 0 ? Math.max(1, probe.timeoutSeconds) : probe.timeoutSeconds;
  return {
    ...rewrittenHandler(probe, userPort),
    initialDelaySeconds: probe.initialDelaySeconds,
    timeoutSeconds,
    periodSeconds: probe.periodSeconds,
    successThreshold: probe.successThreshold,
    failureThreshold: probe.failureThreshold,
  };
}

function rewrittenHandler({ handler }: Probe, userPort: number): Readonly<Record<string, unknown>> {
  const host = "127.0.0.1";
  switch (handler.kind) {
    case "http":
      return {
        httpGet: {
          path: handler.http.path,
          port: localPort(handler.http.port, userPort),
          host,
          scheme: handler.http.scheme,
          httpHeaders: handler.http.headers,
        },
      };
    case "grpc":
      return { grpc: { port: localPort(handler.port, userPort), service: handler.service } };
    case "tcp":
      return { tcpSocket: { port: localPort(handler.port, userPort), host } };
    case "exec":
      return { tcpSocket: { port: userPort, host } };
  }
}

/** A probe of a port of its own keeps it; the reader has made the user port 0. */
function localPort(port: number, userPort: number): number {
  return port === 0 ? userPort : port;
}

/** The platform's own variables stay out: the container is untrusted and must not find the store. */
const WITHHELD = /^(PILOTLIGHT_|VALKEY_|REDIS_|K_|NODE_COMPILE_CACHE$|NODE_CHANNEL_|PORT$)/;

export interface HostFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a container reaches other services, by Host. */
  readonly ingressUrl: string;
  /** Where a Node server keeps compiled sources, as an image would bring them; apart from ours. */
  readonly compileCache: string;
}

export function containerEnvironment(
  plan: PodPlan,
  place: PodPlace,
  host: HostFacts,
): Record<string, string> {
  const inherited: Record<string, string> = {};
  if (plan.launch.kind === "process") {
    for (const [name, value] of Object.entries(host.env)) {
      if (value !== undefined && !WITHHELD.test(name)) inherited[name] = value;
    }
  }
  return {
    ...inherited,
    NODE_COMPILE_CACHE: host.compileCache,
    ...plan.template.container.env,
    PORT: String(place.userPort),
    K_SERVICE: plan.service,
    K_CONFIGURATION: plan.configuration,
    K_REVISION: plan.revision,
    PILOTLIGHT_INGRESS_URL: host.ingressUrl,
    PILOTLIGHT_CARD: plan.card,
    PILOTLIGHT_STATE_URL: `http://${place.address}:${SIDECAR_ADMIN_PORT}/state`,
  };
}
