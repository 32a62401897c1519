/** What a local platform tells the one who started it. */
import type { RevisionSettings } from "../autoscaler/core/settings/types.ts";
import type { Condition, ConditionStatus } from "../autoscaler/ports.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { ErrorCode } from "../common/errors.ts";
import type { ActivatorRecord } from "../common/contracts/local-run.ts";
import type { PodSummary } from "./pod-types.ts";
import type { TrafficEntry } from "./service-types.ts";

export type {
  RevisionView as RevisionSnapshot,
  ServiceView as ServiceSnapshot,
  Snapshot,
} from "../dashboard/view.ts";

export type EventLevel = "info" | "warning" | "error";

/** One line of what happened, for people; the `kind` is for programs. */
export interface PlatformEvent {
  /** Instant, ms since the epoch. */
  readonly at: number;
  readonly level: EventLevel;
  readonly kind:
    | "service-added"
    | "service-changed"
    | "service-new-revision"
    | "service-traffic-moved"
    | "service-removed"
    | "pod-starting"
    | "pod-ready"
    | "pod-unready"
    | "pod-failed"
    | "pod-draining"
    | "pod-gone"
    | "file"
    | "platform";
  /** `namespace/service`, name of a pod, or empty. */
  readonly subject: string;
  readonly text: string;
}

export interface PlatformUrls {
  readonly ingress: string;
  readonly dashboard: string;
}

export interface ServiceSummary {
  readonly key: RevisionKey;
  readonly namespace: string;
  readonly name: string;
  readonly url: string;
  readonly file: string;
  /** The traffic block that holds; `revision` is `null` for the latest ready one. */
  readonly traffic: readonly TrafficEntry[];
  /** Traffic that moves step by step at present; `null`: it stands still. */
  readonly rollout: RolloutSummary | null;
  readonly conditions: readonly ServiceCondition[];
  readonly revisions: readonly RevisionSummary[];
}

export interface RolloutSummary {
  readonly to: string;
  /** What it has so far of the share of the latest, percent. */
  readonly percent: number;
}

/** As on a Knative Service. */
export interface ServiceCondition {
  readonly type: "Ready" | "ConfigurationsReady" | "RoutesReady";
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

export interface RevisionSummary {
  readonly key: RevisionKey;
  readonly name: string;
  /** Share of the service's traffic, 0 to 100. */
  readonly percent: number;
  /** A route reaches it, it is the newest, or it has pods; the others are kept for a roll back. */
  readonly active: boolean;
  readonly tags: readonly TagSummary[];
  /** Instant, ms since the epoch. */
  readonly createdAt: number;
  readonly conditions: readonly Condition[];
  /** In force at present, live keys of the Service included. */
  readonly settings: RevisionSettings;
  readonly command: string;
  readonly desiredScale: number;
  readonly containerConcurrency: number;
  /** Why its pods do not start, in a sentence; empty when all is well. */
  readonly problem: string;
  readonly pods: readonly PodSummary[];
}

export interface TagSummary {
  readonly tag: string;
  readonly url: string;
}

/** What `apply` did. */
export interface AppliedServices {
  readonly services: readonly AppliedService[];
  /** `file:line: service: text`; a faulty service keeps its last good definition. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

export interface AppliedService {
  readonly key: RevisionKey;
  readonly change: "created" | "configured" | "unchanged";
  /** Name of its newest revision. */
  readonly revision: string;
}

/** Why a call on the control socket failed. */
export interface ControlError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** `status.json` of the run folder: what the command line shows of a running platform. */
export interface StatusRecord {
  readonly at: number;
  readonly services: readonly ServiceSummary[];
  readonly activators: readonly ActivatorRecord[];
}
