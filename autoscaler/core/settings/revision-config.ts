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
  /** Activators that serve it; absent: not for us to say. */
  readonly activators?: number | undefined;
  /** What the tuner chose; absent: nothing yet. Used where the service leaves alpha to it. */
  readonly tunedAlpha?: number | undefined;
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
    ...rankingOf(settings, facts.tunedAlpha),
    failure: facts.failure,
    waitingFor: facts.waitingFor,
    startTimeMs: facts.startTimeMs,
    ...(facts.activators === undefined ? {} : { activators: facts.activators }),
    regions: settings.regions.join(","),
    ...(settings.sessionAffinity === "none" ? {} : { sessionAffinity: settings.sessionAffinity }),
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

/** What ranks and weighs calls; left out where it says nothing. */
function rankingOf(
  settings: RevisionSettings,
  tunedAlpha: number | undefined,
): Pick<RevisionConfig, "binding" | "dispatchRule" | "alpha" | "sloMs" | "stages"> {
  const alpha = settings.alpha === "auto" ? tunedAlpha : settings.alpha;
  return {
    ...(settings.binding === "late" ? {} : { binding: settings.binding }),
    // Who binds early has engines that batch: solo times overstate what a call costs them.
    ...(settings.binding === "early" && settings.loadBalancing === "speed-aware"
      ? { dispatchRule: "batch" as const }
      : {}),
    ...(alpha === undefined ? {} : { alpha }),
    ...(settings.sloMs === null ? {} : { sloMs: settings.sloMs }),
    ...(settings.stages.length === 0 ? {} : { stages: settings.stages }),
  };
}
