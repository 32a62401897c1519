/**
 * The routing state in domain words. `store.ts` implements this over one Valkey; every call is
 * one script that touches one hash slot. Times are the server's: `...At` in us for order keys and
 * integrals where the comment says so, else in ms.
 */
import type { Assignment, ColdStartRecord } from "../common/contracts/channels.ts";
import type { PushReport } from "../common/contracts/push.ts";
import type {
  RevisionConfig,
  RevisionKey,
  StartMarks,
  TargetState,
  TargetView,
} from "../common/contracts/routing.ts";

export interface AcquireRequest {
  readonly revision: RevisionKey;
  readonly activatorId: string;
  /** Chosen by the activator, unique for ever: the same id twice returns the same slot. */
  readonly leaseId: string;
  /** Targets that this request already failed on. */
  readonly exclude: readonly string[];
  /** `arrivedAt` of an earlier reply for this request, so that a rerouted one keeps its place; 0 at first. */
  readonly arrivedAt: number;
  /** False: take a free slot or nothing. */
  readonly mayWait: boolean;
  /** Two numbers in [0, 1), used by `random-choice-2`. */
  readonly random: readonly [number, number];
  /**
   * What ranks and weighs the call. Left out for a plain request, which then costs nothing more: it
   * waits by arrival alone, behind all that have a deadline.
   */
  readonly call?: CallDetails;
}

/** What ranks a call among the waiting ones, and what it costs; every part may be left out. */
export interface CallDetails {
  /** Of `openCall`, or the objective of a call that is a workflow of its own. */
  readonly plan?: CallPlan | OwnObjective;
  /** Level inside its tenant, -8 to 7, larger first; default 0. Who may name one is policy of the caller. */
  readonly priority?: number;
  readonly tenant?: TenantShare;
  /**
   * Time of this call alone on each profile in whole us, by the name that the target reports as
   * `card`. A profile that is missing counts as the mean of the others; without any, every card
   * counts a second, so that `speed-aware` chooses like `min-connections`.
   */
  readonly workUs?: ReadonlyMap<string, number>;
  /** Under the rule `batch`, for the profiles of `workUs`, which then is engine time. */
  readonly weights?: ReadonlyMap<string, BatchWeights>;
  /**
   * Targets that are thought to hold a beginning of the prompt, longest first, with the times of the
   * call there. The store looks at the first eight of them (`speed-aware`).
   */
  readonly warm?: readonly WarmTargets[];
  /** Tokens of the prompt: a target that reports less free KV room is passed over (`speed-aware`). */
  readonly promptTokens?: number;
  readonly session?: CallSession;
  /** True: refuse with `deadline-unreachable` when the deadline cannot be met at twice the expected speed. */
  readonly rejectLate?: boolean;
}

/** Targets that hold the same length of a prompt's beginning. */
export interface WarmTargets {
  readonly targetUids: readonly string[];
  /** As `workUs` and `weights`, without the prefill of what they hold. */
  readonly workUs: ReadonlyMap<string, number>;
  readonly weights?: ReadonlyMap<string, BatchWeights>;
}

/** What `batch` weighs beside the work, see `common/hexgen/batch-estimate.ts`. */
export interface BatchWeights {
  readonly soloUs: number;
  readonly logEngineUs: number;
  readonly meanLogSpeed: number;
  readonly wayUs: number;
}

/** A session whose calls belong on one target: the one that the last of them was given. */
export interface CallSession {
  readonly id: string;
  /** `soft`: while that has a free slot. `strict`: on no other, and `session-lost` once it is gone. */
  readonly affinity: "soft" | "strict";
}

/** A tenant whose calls wait; while several wait, each gets service in proportion to its weight. */
export interface TenantShare {
  readonly name: string;
  /** 1 is usual; 0.001 to 1,000. */
  readonly weight: number;
}

/** Where a call stands in its workflow; all in us, instants by the server's clock, with fractions. */
export interface CallPlan {
  /** a_r: when its stage became ready. */
  readonly readyAt: number;
  /** b_r, negative once the workflow is late. */
  readonly budgetUs: number;
  /** D_w; 0 when the workflow has no objective. */
  readonly deadlineAt: number;
  /** Expected work of the workflow from this stage on. */
  readonly restUs: number;
  readonly workflowArrivedAt: number;
}

/** A call that is a workflow of one stage: it arrives when it is acquired. */
export interface OwnObjective {
  /** 0: none. */
  readonly sloUs: number;
  /** Expected time of the call, mean over the pool. */
  readonly restUs: number;
}

export interface Lease {
  readonly leaseId: string;
  readonly targetUid: string;
  /** `ip:port` of the sidecar. */
  readonly address: string;
  /** Server time in us; also the sequence of the call among equals, kept over reroutes. */
  readonly arrivedAt: number;
  readonly grantedAt: number;
  /** Of a call with `call`, unless the order is `fifo`. */
  readonly order?: LeaseOrder;
  /** Estimate on the chosen target in us, which the store counts as outstanding there; absent: 0. */
  readonly workUs?: number;
}

/** What `Pilotlight-Order` says to the sidecar; the sequence is `arrivedAt`. */
export interface LeaseOrder {
  readonly orderClass: 0 | 1;
  /** Class 0: an instant in us (`pq`, `edf_wf`, `wfifo`, `urgency`); class 1: the rest in us. */
  readonly keyUs: number;
}

export type AcquireResult =
  | { readonly kind: "leased"; readonly lease: Lease }
  | {
      readonly kind: "waiting";
      readonly arrivedAt: number;
      /** Targets in state ready or suspected; 0 means that this is a cold start. */
      readonly readyTargets: number;
      readonly waiting: number;
    }
  /** Only with `mayWait: false`. */
  | { readonly kind: "no-slot" }
  | { readonly kind: "queue-full"; readonly retryAfterMs: number }
  /** Only with `rejectLate`: even at twice the expected speed the deadline would pass. */
  | { readonly kind: "deadline-unreachable" }
  /** Only with a session under strict affinity: the target that served it is gone. */
  | { readonly kind: "session-lost" }
  /** The store has no configuration of this revision (yet, or any more). */
  | { readonly kind: "unknown-revision" };

/** What became of a request that waited. */
export type AskResult =
  | Extract<
      AcquireResult,
      { readonly kind: "leased" | "waiting" | "session-lost" | "unknown-revision" }
    >
  | { readonly kind: "gone" };

export type ReleaseOutcome = "done" | "error" | "cancelled" | "timeout" | "moved" | "not-delivered";

export interface ReleaseRequest {
  readonly revision: RevisionKey;
  readonly leaseId: string;
  readonly outcome: ReleaseOutcome;
  /** Status sent to the caller, 0 when none. */
  readonly status: number;
  /** Time from grant to end in ms; 0 when nothing ran. */
  readonly serviceMs: number;
}

/** What an activator saw on the way to a target. */
export type TargetEvidence =
  /** Refused, no route, reset or timed out in connect: quarantine (or suspected beyond the bound of T4). */
  | "connect-failed"
  /** Answered 421: the address belongs to another pod now; deleted. */
  | "misdirected"
  /** Answered 503 pod_full: the count is wrong until the next report. */
  | "pod-full"
  /** Answered 503 draining. */
  | "draining"
  /** Reset on a reused connection: nothing the first time, then suspected. */
  | "reset-reused"
  /** Reset on a fresh connection or in mid-answer: suspected. */
  | "reset"
  /** The push connection closed without a goodbye and was not replaced in time: suspected. */
  | "push-lost";

export interface ReportResult {
  readonly kind: "accepted" | "stale" | "unknown-revision" | "buried";
  readonly state: TargetState | "deleted";
  readonly bootOnRecord: number;
  readonly sequenceOnRecord: number;
  /** No open lease on this target. */
  readonly idle: boolean;
  readonly ask: readonly string[];
  /** Targets of this revision, for the heartbeat period. */
  readonly targets: number;
}

/** What a push adds from the side of the activator. */
export interface ReportContext {
  readonly card: string;
  readonly marks: StartMarks;
}

export interface Heartbeat {
  readonly podUid: string;
  readonly boot: number;
  readonly sequence: number;
}

export interface ProbeOrder {
  readonly targetUid: string;
  readonly address: string;
  readonly state: "suspected" | "quarantined";
}

/** Result of one sweep: what an activator must probe now, and what left the routing state. */
export interface SweepResult {
  readonly probes: readonly ProbeOrder[];
  /** Targets deleted because they never recovered; their pods are to be replaced. */
  readonly evicted: readonly string[];
  /** More work is left; call again soon. */
  readonly more: boolean;
}

/** Figures of one revision for the autoscaler; one read per revision and tick. */
export interface RevisionFigures {
  /** Server time in us of this read. */
  readonly at: number;
  /** Integral over time of (leases + tickets), in request-us, since `since`. */
  readonly concurrencyIntegral: number;
  /** Requests that arrived since `since`. */
  readonly arrivals: number;
  /** Server time in us since when the figures are kept without a gap. */
  readonly since: number;
  /** Slots held now. */
  readonly busy: number;
  readonly waiting: number;
  /** Waiting requests older than `scale-up-delay` (all when no target is ready). */
  readonly aged: number;
  /** Server time in us at which the oldest ticket arrived; 0 when none waits. */
  readonly oldestArrivedAt: number;
  readonly targetsByState: Readonly<Record<TargetState, number>>;
  /** Targets evicted and not yet reported to the autoscaler. */
  readonly evicted: readonly string[];
}

/** A figures sample as kept in the store, newest last. */
export interface FiguresSample {
  readonly at: number;
  readonly concurrencyIntegral: number;
  readonly arrivals: number;
}

export interface RoutingStore {
  acquireLease(request: AcquireRequest): Promise<AcquireResult>;
  releaseLease(request: ReleaseRequest): Promise<void>;
  /** The caller of a waiting request left, or its time is over. True: it was waiting. False: it was assigned meanwhile; the lease must be released. */
  cancelTicket(revision: RevisionKey, leaseId: string): Promise<boolean>;
  /** What became of a request whose assignment may have been lost. */
  askTicket(revision: RevisionKey, leaseId: string): Promise<AskResult>;
  reportReadiness(report: PushReport, context: ReportContext): Promise<ReportResult>;
  /** At most 16 per call; the store facade cuts larger batches. Answers the uids that must push their whole state. */
  reportHeartbeats(revision: RevisionKey, beats: readonly Heartbeat[]): Promise<readonly string[]>;
  reportEvidence(
    revision: RevisionKey,
    targetUid: string,
    leaseId: string,
    evidence: TargetEvidence,
  ): Promise<void>;
  reportProbe(revision: RevisionKey, targetUid: string, passed: boolean): Promise<void>;
  /** Keeps this activator's leases and tickets of the revision alive for 3 s, and sweeps. */
  renewActivator(revision: RevisionKey, activatorId: string): Promise<SweepResult>;
  /** A page of the leases and tickets that the store keeps for an activator; `cursor` is `0` at first. */
  listHeld(revision: RevisionKey, activatorId: string, cursor: string): Promise<HeldPage>;
  /** A last word of an activator that stops: its entry goes at once. */
  leaveRevision(revision: RevisionKey, activatorId: string): Promise<void>;
  /** After a loss of the store: put back what this activator holds. Idempotent. */
  reassertLeases(
    revision: RevisionKey,
    activatorId: string,
    leases: readonly Lease[],
  ): Promise<void>;
  configureRevision(config: RevisionConfig): Promise<void>;
  removeRevision(revision: RevisionKey): Promise<void>;
  readRevision(revision: RevisionKey): Promise<RevisionConfig | null>;
  /** Reads, sweeps, and appends a sample when `record` is true. */
  readFigures(
    revision: RevisionKey,
    options: { readonly record: boolean },
  ): Promise<RevisionFigures>;
  readSamples(revision: RevisionKey): Promise<readonly FiguresSample[]>;
  readTargets(revision: RevisionKey): Promise<readonly TargetView[]>;
  /** T6: the pods that exist, from the API or the supervisor. Adds `starting`, deletes what has no pod, drains what is marked. */
  comparePods(revision: RevisionKey, pods: readonly PodFact[]): Promise<void>;
  drainTarget(revision: RevisionKey, targetUid: string, reason: string): Promise<void>;
  removeTarget(revision: RevisionKey, targetUid: string, reason: string): Promise<void>;
  /** State of the scaler that survives a restart: an opaque text per revision. */
  readScalerState(revision: RevisionKey): Promise<string | null>;
  writeScalerState(revision: RevisionKey, state: string): Promise<void>;
  /** Decisions of the last hour, oldest first, opaque texts; bounded by count and time. */
  readDecisions(revision: RevisionKey): Promise<readonly string[]>;
  appendDecision(revision: RevisionKey, decision: string): Promise<void>;
  listRevisions(): Promise<readonly RevisionKey[]>;
  recordColdStart(record: ColdStartRecord): Promise<void>;
  readColdStarts(revision: RevisionKey, limit: number): Promise<readonly ColdStartRecord[]>;
  /** Switches the event log of a revision on or off, and reads it. */
  recordEvents(revision: RevisionKey, on: boolean): Promise<void>;
  readEvents(revision: RevisionKey): Promise<readonly StoreEvent[]>;
}

/** Ids of one page; the next one begins at `cursor`, which is `0` after the last. */
export interface HeldPage {
  readonly cursor: string;
  readonly ids: readonly string[];
}

export interface PodFact {
  readonly uid: string;
  readonly podName: string;
  readonly draining: boolean;
  readonly card: string;
}

/** One entry of the event log: what a script did, in server order. */
export interface StoreEvent {
  /** Server time in us. */
  readonly at: number;
  readonly operation: string;
  readonly target: string;
  readonly lease: string;
  /** State of the target, `in flight / capacity` and waiting requests after the step. */
  readonly state: string;
  readonly inFlight: number;
  readonly capacity: number;
  /** Slots that a new lease may take: less than capacity allows while some are held back. */
  readonly free: number;
  readonly waiting: number;
}

/** A workflow by name; its state lives in a slot of its own, so its stages may be any services. */
export interface WorkflowKey {
  readonly namespace: string;
  /** Empty without a tenant. */
  readonly tenant: string;
  readonly id: string;
}

/** One stage that a workflow is expected to pass, with its expected time. */
export interface ExpectedStage {
  readonly stage: string;
  /** May be skipped: dropped when a later entry starts. */
  readonly optional: boolean;
  /** Share of workflows that pass it; weighs its time. */
  readonly probability: number;
  /** Mean over the pool that serves it, whole us; parallel calls count once. */
  readonly workUs: number;
}

export interface OpenCallRequest {
  readonly workflow: WorkflowKey;
  /** Names the call inside its workflow: the same id again gets the same answer and counts once. */
  readonly callId: string;
  readonly stage: string;
  /** Grows from stage to stage; a call with a larger one than any before starts a stage. */
  readonly stageIndex: number;
  /** Expected time of this stage in us, mean over the pool. */
  readonly stageUs: number;
  /** End to end, from the first call; 0 when the caller named none. Only the first one counts. */
  readonly sloUs: number;
  /** Instant in us that the caller named; 0 when none. The earlier of the two holds. */
  readonly deadlineAt: number;
  /** Floor of the objective, so that nobody buys urgency by an absurd one; 0 for none. */
  readonly leastSloUs: number;
  /** A later call of this tenant may move the objective. */
  readonly mayExtend: boolean;
  /** Of the class, this stage included; holds for a workflow that begins. */
  readonly template: readonly ExpectedStage[];
  /** Stages after this one as the caller knows them; replaces what is left of the template. */
  readonly remaining?: readonly ExpectedStage[];
  /**
   * Parallel calls of this stage, as the caller says: all of them share instant and budget, and a last
   * stage is over when so many have ended, though not all may have been open at once.
   */
  readonly fanout?: number;
}

export interface OpenCallResult {
  readonly plan: CallPlan;
  /** Index of the newest stage of the workflow. */
  readonly stageIndex: number;
  /** Calls open over all stages, this one included. */
  readonly open: number;
  /** Uid of the target on which the last closed call ran; empty at first. For affinity. */
  readonly lastTarget: string;
  /** How the prompt of that call began, see `readModelBody`; empty where it had none. */
  readonly lastFingerprints: readonly string[];
}

export interface CloseCallRequest {
  readonly workflow: WorkflowKey;
  readonly callId: string;
  /** Where it ran; empty when nowhere. */
  readonly targetUid: string;
  /** How its prompt began: what the engine there may still hold. */
  readonly fingerprints: readonly string[];
  /** The last call of the workflow: its state goes soon after the last open call ends. */
  readonly isFinal: boolean;
}

/** A workflow as the dashboard and tests read it; instants in us of the server. */
export interface WorkflowView {
  readonly arrivedAt: number;
  readonly sloUs: number;
  readonly deadlineAt: number;
  readonly stageIndex: number;
  readonly open: number;
  readonly isEnded: boolean;
  readonly lastTarget: string;
  /** What is left of the template after the newest stage. */
  readonly template: readonly ExpectedStage[];
  /** The latest 64 stages, oldest first. */
  readonly stages: readonly WorkflowStageView[];
}

export interface WorkflowStageView {
  readonly stage: string;
  readonly index: number;
  readonly readyAt: number;
  readonly budgetUs: number;
  /** End of its last call so far; 0 while none has ended. */
  readonly endedAt: number;
}

export interface WorkflowStore {
  openCall(request: OpenCallRequest): Promise<OpenCallResult>;
  /** A call that is unknown or closed changes nothing. */
  closeCall(request: CloseCallRequest): Promise<void>;
  readWorkflow(workflow: WorkflowKey): Promise<WorkflowView | null>;
}

/** Early binding: a pod is idle while this lease may still wait in another pod's local queue. */
export interface StealOffer {
  readonly revision: RevisionKey;
  readonly leaseId: string;
  /** The pod that holds the call; it gives it back if nothing of it was delivered. */
  readonly targetUid: string;
  readonly address: string;
}

/** Subscriptions of one process; a second connection of its own. */
export interface StoreSubscriber {
  onAssignment(listener: (assignment: Assignment) => void): void;
  /** For leases of this activator. Release it as `moved` and acquire again, or do nothing. */
  onSteal(listener: (offer: StealOffer) => void): void;
  onWake(listener: (revision: RevisionKey) => void): void;
  onConfig(listener: (revision: RevisionKey) => void): void;
  /** Services whose digest changed, as another activator of this cell says. */
  onCells?(listener: (message: string) => void): void;
  /** After each (re)subscription: what was published meanwhile may be lost. */
  onResubscribed(listener: () => void): void;
}
