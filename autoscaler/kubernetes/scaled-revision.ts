/** A PodAutoscaler with its revision, service and network to what the controller decides on. Pure. */
import { PILOTLIGHT_PREFIX, SCALER_CLASS } from "../../common/contracts/annotations.ts";
import type { ScaledRevision } from "../ports.ts";
import { networkReadiness } from "./desired-network.ts";
import { CLASS_ANNOTATION, SERVICE_LABEL, keyOf } from "./objects.ts";
import type { KnativeService, PodAutoscaler, Revision, ServerlessService } from "./objects.ts";
import { wasInitialised } from "./scaler-status.ts";

export interface Surroundings {
  readonly revision: Revision | undefined;
  readonly service: KnativeService | undefined;
  readonly network: ServerlessService | undefined;
}

export function isOurs({ metadata }: PodAutoscaler): boolean {
  return metadata.annotations?.[CLASS_ANNOTATION] === SCALER_CLASS;
}

export function scaledRevision(scaler: PodAutoscaler, around: Surroundings): ScaledRevision {
  const { metadata } = scaler;
  const { namespace = "", name, annotations = {}, labels = {} } = metadata;
  const share = trafficShare(around.service, name);
  return {
    key: keyOf(namespace, name),
    namespace,
    service: labels[SERVICE_LABEL] ?? "",
    revision: name,
    annotations,
    serviceAnnotations: ownAnnotations(around.service),
    ...limitsOf(around.revision),
    ...specOf(scaler),
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    initialised: wasInitialised(scaler),
    ...(share === null ? {} : { trafficShare: share }),
    ...(isOurs(scaler)
      ? { network: networkReadiness(scaler, around.network) }
      : { scaledElsewhere: true }),
  };
}

/** 0 says "not set" to whoever reads the settings. */
function limitsOf(
  revision: Revision | undefined,
): Pick<ScaledRevision, "timeoutSeconds" | "responseStartTimeoutSeconds" | "idleTimeoutSeconds"> {
  const {
    timeoutSeconds = 0,
    responseStartTimeoutSeconds = 0,
    idleTimeoutSeconds = 0,
  } = revision?.spec ?? {};
  return { timeoutSeconds, responseStartTimeoutSeconds, idleTimeoutSeconds };
}

function specOf({
  spec,
}: PodAutoscaler): Pick<ScaledRevision, "containerConcurrency" | "protocol" | "reachable"> {
  return {
    containerConcurrency: spec?.containerConcurrency ?? 0,
    protocol: spec?.protocolType === "h2c" ? "h2c" : "http1",
    // "" says that nobody knows yet.
    reachable: spec?.reachability !== "Unreachable",
  };
}

function ownAnnotations(service: KnativeService | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(service?.metadata.annotations ?? {}).filter(([key]) =>
      key.startsWith(PILOTLIGHT_PREFIX),
    ),
  );
}

/** `null` where nobody says how the traffic is divided. */
function trafficShare(service: KnativeService | undefined, revision: string): number | null {
  const traffic = service?.status?.traffic;
  if (traffic === undefined || traffic.length === 0) return null;
  const percent = traffic
    .filter((entry) => entry.revisionName === revision)
    .reduce((sum, entry) => sum + (entry.percent ?? 0), 0);
  return percent / 100;
}
