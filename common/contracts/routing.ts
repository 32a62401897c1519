/**
 * The words of routing that all processes share: targets and their states, policies, and the
 * configuration of a revision as it stands in the store. Pure data, no behaviour.
 */

/** `namespace/name` of a revision; the unit that is routed to and scaled. */
export type RevisionKey = `${string}/${string}`;

/** States of a target; the machine is drawn in docs/architecture.md. Deleted targets are tombstones. */
export const TARGET_STATES = [
  "starting",
  "ready",
  "unready",
  "suspected",
  "quarantined",
  "draining",
] as const;
export type TargetState = (typeof TARGET_STATES)[number];

export const LOAD_BALANCING_POLICIES = [
  "first-available",
  "round-robin",
  "min-connections",
  "random-choice-2",
  "speed-aware",
] as const;
export type LoadBalancingPolicy = (typeof LOAD_BALANCING_POLICIES)[number];

export type RetryMode = "safe" | "idempotent" | "never";
export type QuarantineAction = "replace" | "drop";
export type QueueOrder = "fifo" | "urgency" | "pq" | "edf_wf" | "wfifo";
export type AppProtocol = "http1" | "h2c";
/** `late`: a request waits until a slot is free; `early`: the places of a pod's local queue are slots too. */
export type Binding = "late" | "early";
/**
 * How `speed-aware` weighs cards: the rule of the product, that for engines that batch, earliest
 * completion, the published code.
 */
export type DispatchRule = "wb" | "batch" | "ect" | "repo";

/** Why a revision can serve nobody now; waiting callers end with 503 `activation_failed`. */
export interface ActivationFailure {
  /** One word, as in a Kubernetes condition: `ImagePullBackOff`, `CrashLoopBackOff`. */
  readonly reason: string;
  readonly message: string;
}

/**
 * Configuration of one revision, written to the store by the autoscaler at every change and at
 * every resync, read and kept by activators. Durations in ms; 0 switches a time limit off where
 * the comment says so.
 */
/** `jwt`: callers with a token that the operator's keys prove. */
export type CallerAuthMode = "none" | "jwt";

export interface RevisionConfig {
  readonly namespace: string;
  readonly service: string;
  readonly revision: string;
  /** Slots per target; 0 means no limit. */
  readonly containerConcurrency: number;
  /** Resolved policy, never "automatic". */
  readonly policy: LoadBalancingPolicy;
  /** Waiting requests over all activators; 0 means never wait. */
  readonly queueDepth: number;
  readonly queueTimeoutMs: number;
  readonly activationTimeoutMs: number;
  /** First byte of the answer; 0 = off. */
  readonly responseStartTimeoutMs: number;
  /** Silence in a running exchange; 0 = off. */
  readonly idleTimeoutMs: number;
  /** Whole run, counted from the reservation of a slot. */
  readonly timeoutMs: number;
  readonly retry: RetryMode;
  /** Who may call; absent: anybody. */
  readonly auth?: CallerAuthMode;
  readonly quarantinePeriodMs: number;
  readonly quarantineMaxMs: number;
  readonly quarantineAction: QuarantineAction;
  readonly flapThreshold: number;
  readonly scaleUpDelayMs: number;
  readonly queueOrder: QueueOrder;
  readonly starvationLimitMs: number;
  /** Requests a sidecar may hold beyond those running; 0 = none. */
  readonly localQueue: number;
  /** Whether requests of one session belong on one pod; absent: not. */
  readonly sessionAffinity?: "soft" | "strict";
  /** Absent: `late`. */
  readonly binding?: Binding;
  /** Weight of speed against balance in `speed-aware`, 0 to 1; absent: 0.3. */
  readonly alpha?: number;
  /** Absent: `wb`. */
  readonly dispatchRule?: DispatchRule;
  /** Objective of a call or workflow that declares none; absent: none. */
  readonly sloMs?: number;
  /** Stages that a workflow passes, and their times, until its class has a history. */
  readonly stages?: readonly { readonly name: string; readonly durationMs: number }[];
  readonly protocol: AppProtocol;
  /** `null` while pods may start. */
  readonly failure: ActivationFailure | null;
  /** What a first pod waits for, in words, e.g. `waiting for a node`; empty when unknown. */
  readonly waitingFor: string;
  /** Median time of recent starts in ms, for `Retry-After`; 0 when unknown. */
  readonly startTimeMs: number;
  /** Activators that serve it, of all in its cluster; absent: not known, every one may. */
  readonly activators?: number;
  /** `regions` as the service names them; absent or empty: this cell only. */
  readonly regions?: string;
  /** Absent: `async` and webhooks are the application's own words. */
  readonly async?: AsyncConfig;
}

/**
 * Instants of a start, as far as known, ms since the epoch with fractions. They travel from the
 * process that saw them to the activator that answers the first request, which joins them to a
 * waterfall. In a cluster they come from different clocks and are shown as such.
 */
export interface StartMarks {
  /** The autoscaler decided to add the pod. */
  readonly decidedAt?: number;
  /** The pod's processes were spawned (local mode) or the pod object was created (cluster). */
  readonly spawnedAt?: number;
  /** The queue-proxy process ran its first line. */
  readonly sidecarAt?: number;
  /** The user container accepted its first connection. */
  readonly listeningAt?: number;
  /** The readiness probe passed its success threshold. */
  readonly readyAt?: number;
}

/** Asynchronous calls of a revision that offers them. */
export interface AsyncConfig {
  readonly maxDurationMs: number;
  /** Patterns of hosts for webhooks; empty: any public one. */
  readonly webhookHosts: readonly string[];
}

/** A target as the dashboard, the autoscaler and tests read it. */
export interface TargetView {
  readonly uid: string;
  readonly podName: string;
  readonly address: string;
  readonly state: TargetState;
  readonly reason: string;
  /** Order of first readiness, 1 for the first; 0 while it was never ready. */
  readonly admission: number;
  readonly boot: number;
  readonly sequence: number;
  readonly capacity: number;
  readonly inFlight: number;
  /** Estimated work of its leases in us, under `speed-aware`. */
  readonly outstandingUs?: number;
  readonly card: string;
  /** Server time in ms of the last report. */
  readonly reportedAt: number;
  /** Server time in ms of the last change of state. */
  readonly changedAt: number;
  /** Server time in ms at which the quarantine ends; 0 when not quarantined. */
  readonly quarantinedUntil: number;
  /** Since when, in server ms, the target has had no request; 0 while busy or never ready. */
  readonly idleSince: number;
  readonly marks: StartMarks;
}
