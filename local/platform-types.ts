/** What a local platform tells the one who started it. */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { ActivatorRecord } from "../common/contracts/local-run.ts";
import type { PodSummary } from "./pod-types.ts";

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
  readonly revisions: readonly RevisionSummary[];
}

export interface RevisionSummary {
  readonly key: RevisionKey;
  readonly name: string;
  /** Share of the service's traffic, 0 to 100. */
  readonly percent: number;
  readonly command: string;
  readonly desiredScale: number;
  readonly containerConcurrency: number;
  /** Why its pods do not start, in a sentence; empty when all is well. */
  readonly problem: string;
  readonly pods: readonly PodSummary[];
}

/** `status.json` of the run folder: what the command line shows of a running platform. */
export interface StatusRecord {
  readonly at: number;
  readonly services: readonly ServiceSummary[];
  readonly activators: readonly ActivatorRecord[];
}
