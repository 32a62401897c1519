/**
 * What the controller needs from outside. Kubernetes and local mode are two implementations of
 * these; one contract suite (test/contract) runs against both.
 */
import type { AppProtocol, ActivationFailure, RevisionKey } from "../common/contracts/routing.ts";
import type { Condition, ConditionStatus } from "./core/condition-types.ts";

export type { Condition, ConditionStatus } from "./core/condition-types.ts";

/** A revision as the controller sees it: spec in, status out. In a cluster a PodAutoscaler. */
export interface ScaledRevision {
  readonly key: RevisionKey;
  readonly namespace: string;
  readonly service: string;
  readonly revision: string;
  /** Annotations of the revision, live keys of the Service already laid over them. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly containerConcurrency: number;
  readonly timeoutSeconds: number;
  readonly responseStartTimeoutSeconds: number;
  readonly idleTimeoutSeconds: number;
  readonly protocol: AppProtocol;
  /** A route references the revision. */
  readonly reachable: boolean;
  /** Instant of creation, ms since the epoch. */
  readonly createdAt: number;
  /** Annotations of the Service, where the source has not laid its live keys over the revision's. */
  readonly serviceAnnotations?: Readonly<Record<string, string>>;
  /** Share of the service's traffic, 0 to 1; absent: all of it. */
  readonly trafficShare?: number;
  /** The revision has shown its initial scale before, as its status says; survives a lost store. */
  readonly initialised?: boolean;
  /** State of the network side (a ServerlessService); absent: there is none, and all is well. */
  readonly network?: NetworkReadiness;
  /** Another autoscaler decides its scale, or nobody any more; it is only made known to the activators. */
  readonly scaledElsewhere?: boolean;
}

export interface NetworkReadiness {
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  /** The name of the service is known; a revision is not initialised before. */
  readonly serviceKnown: boolean;
  /** In words: somebody else's object is in the way, so that nothing of the revision is touched. */
  readonly notOwned?: string;
}

export interface ObjectSource {
  list(): readonly ScaledRevision[];
  get(key: RevisionKey): ScaledRevision | undefined;
  /** Called with the key of what was added, changed or removed. */
  onChange(listener: (key: RevisionKey) => void): void;
}

export type PodPhase = "pending" | "starting" | "ready" | "unready" | "terminating";

export interface ScaledPod {
  readonly uid: string;
  readonly name: string;
  readonly phase: PodPhase;
  readonly card: string;
  readonly createdAt: number;
  /** Repeated failure of the same kind; `count` grows with each. */
  readonly failure: (ActivationFailure & { readonly count: number }) | null;
  /** `waiting for a node`, `pulling the image`; empty when nothing is known. */
  readonly waitingFor: string;
}

export interface ScaleRequest {
  readonly key: RevisionKey;
  readonly replicas: number;
  /** Uids in the order in which pods should leave, most expendable first. */
  readonly leaveOrder: readonly string[];
  /** When the decision was made, ms since the epoch; part of the cold-start waterfall. */
  readonly decidedAt: number;
  readonly reason: string;
}

export interface ScaleTarget {
  /** Replicas asked for at present. */
  readScale(key: RevisionKey): Promise<number>;
  writeScale(request: ScaleRequest): Promise<void>;
  listPods(key: RevisionKey): Promise<readonly ScaledPod[]>;
  /** Deletes one pod so that it is replaced (eviction). */
  replacePod(key: RevisionKey, uid: string, reason: string): Promise<void>;
  onPodsChanged(listener: (key: RevisionKey) => void): void;
  /**
   * Of pods that the list lacks, the uids of those that are gone for sure. Absent where the list is
   * never late.
   */
  confirmGone?(key: RevisionKey, absent: readonly GonePod[]): Promise<ReadonlySet<string>>;
}

export interface GonePod {
  readonly uid: string;
  readonly podName: string;
}

export interface ScalerStatus {
  readonly desiredScale: number;
  readonly actualScale: number;
  readonly conditions: readonly Condition[];
}

/** Mean use of the ready pods over a window, in % of what they ask for; `null` when unknown. */
export interface ResourceUseSource {
  meanPercent(key: RevisionKey, metric: "cpu" | "memory", windowMs: number): Promise<number | null>;
}

/** Where others lead requests to the activators: how many of them serve a revision. */
export interface EntranceSink {
  /** Called with each decision; costs nothing where the number is the same. */
  useActivators(key: RevisionKey, count: number): void;
}

export interface StatusSink {
  writeStatus(key: RevisionKey, status: ScalerStatus): Promise<void>;
  /** False: what is shown of the revision is not this, e.g. because others wrote it over. */
  isCurrent?(key: RevisionKey, status: ScalerStatus): boolean;
}
