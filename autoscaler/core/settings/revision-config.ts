/** Settings and facts of the moment to what activators and scripts read from the store. */
import type {
  ActivationFailure,
  AppProtocol,
  RevisionConfig,
} from "../../../common/contracts/routing.ts";
import type { RevisionSettings } from "./types.ts";

export interface RevisionFacts {
  /** Why no pod can come up, `null` while one may. */
  readonly failure: ActivationFailure | null;
  readonly waitingFor: string;
  /** Median of recent starts in ms, 0 when unknown. */
  readonly startTimeMs: number;
}

export interface RevisionName {
  readonly namespace: string;
  readonly service: string;
  readonly revision: string;
  readonly protocol: AppProtocol;
}

export function toRevisionConfig(
  name: RevisionName,
  settings: RevisionSettings,
  facts: RevisionFacts,
): RevisionConfig {
  return {
    namespace: name.namespace,
    service: name.service,
    revision: name.revision,
    protocol: name.protocol,
    containerConcurrency: settings.containerConcurrency,
    policy: settings.loadBalancing,
    queueDepth: settings.queueDepth,
    queueTimeoutMs: settings.queueTimeoutMs,
    activationTimeoutMs: settings.activationTimeoutMs,
    responseStartTimeoutMs: settings.responseStartTimeoutMs,
    idleTimeoutMs: settings.idleTimeoutMs,
    timeoutMs: settings.timeoutMs,
    retry: settings.retry,
    auth: settings.auth ?? "none",
    quarantinePeriodMs: settings.quarantinePeriodMs,
    quarantineMaxMs: settings.quarantineMaxMs,
    quarantineAction: settings.quarantineAction,
    flapThreshold: settings.flapThreshold,
    scaleUpDelayMs: settings.scaleUpDelayMs,
    queueOrder: settings.queueOrder,
    starvationLimitMs: settings.starvationLimitMs,
    localQueue: settings.localQueue,
    failure: facts.failure,
    waitingFor: facts.waitingFor,
    startTimeMs: facts.startTimeMs,
    regions: settings.regions.join(","),
    ...(settings.async === "enabled"
      ? {
          async: {
            maxDurationMs: settings.asyncMaxDurationMs,
            webhookHosts: settings.webhookHosts,
          },
        }
      : {}),
  };
}
