/**
 * The push protocol: what a queue-proxy tells an activator about its pod, and what it hears back.
 * `POST /v1/push`, JSON both ways, `Authorization: Bearer <pod token>`, on one kept connection.
 */
import type { RevisionKey, StartMarks } from "./routing.ts";

export const PUSH_PATH = "/v1/push";
/** Port of the push side of an activator in a cluster. */
export const PUSH_PORT = 8014;
/** Audience of the projected service-account token, and its file name. */
export const TOKEN_AUDIENCE = "pilotlight";

/** What a sidecar says of itself; `suspected` and `quarantined` are the platform's judgement. */
export type ReportedState = "starting" | "ready" | "unready" | "draining";

/**
 * `hello` opens a connection and carries the whole state, `change` is sent at once, `heartbeat`
 * periodically, `goodbye` ends the pod's life in routing.
 */
export type PushKind = "hello" | "change" | "heartbeat" | "goodbye";

export interface PushReport {
  readonly kind: PushKind;
  readonly revision: RevisionKey;
  readonly podUid: string;
  readonly podName: string;
  /** Number of this life of the sidecar, larger than any earlier one of the pod (wall time, ms). */
  readonly boot: number;
  /** Grows by one with each report of this life. */
  readonly sequence: number;
  readonly state: ReportedState;
  /** Why, in a few words; empty when all is well. */
  readonly reason: string;
  /** Address and port at which the sidecar takes requests. */
  readonly address: string;
  readonly port: number;
  /** Slots; 0 means no limit. */
  readonly capacity: number;
  /** Requests that the sidecar has open towards the container. */
  readonly inFlight: number;
  /** Slots that the container keeps busy although their caller left. */
  readonly occupied: number;
  /** Free KV room of the engine in tokens; absent where it is not known. */
  readonly kvFreeTokens?: number;
  /** The container reports its own `running` number, so a cancelled request frees its slot only when the pod confirms it. */
  readonly reportsRunning: boolean;
  /** Answer to `ask` of the last reply: the leases asked about, and those that still run here. */
  readonly asked: readonly string[];
  readonly running: readonly string[];
  readonly build: string;
  readonly marks: StartMarks;
  /** Calls that the engine works on together; absent when the container does not say. */
  readonly batch?: number;
  /** Requests that wait in the sidecar, and the sum of their expected times. */
  readonly localWaiting?: number;
  readonly localWorkUs?: number;
  /** Calls that ended since the last report, newest last; at most `MAX_SAMPLES`. */
  readonly samples?: readonly CallSample[];
}

export const MAX_SAMPLES = 64;

/** What a call turned out to be, as its sidecar saw it. */
export interface CallSample {
  readonly model: string;
  readonly stage: string;
  readonly workflowClass: string;
  /** As the engine counted them, else as estimated; -1 when the call has no tokens. */
  readonly promptTokens: number;
  /** Part of the prompt that the engine still had. */
  readonly cachedTokens: number;
  /** -1 when nobody counted them. */
  readonly outputTokens: number;
  /** Of the prompt; 0 when the engine did not count its tokens: nothing is to be learnt then. */
  readonly characters: number;
  readonly messages: number;
  /** From the start in the container to the first piece of a stream; 0 for an answer in one piece. */
  readonly firstMs: number;
  /** From the start in the container to the end of the answer. */
  readonly totalMs: number;
  /** Mean number of calls that ran meanwhile, this one included. */
  readonly meanBatch: number;
}

export interface PushReply {
  /** The newest (boot, sequence) on record for this pod. */
  readonly ackBoot: number;
  readonly ackSequence: number;
  readonly heartbeatMs: number;
  /** Live value of `pilotlight.dev/local-queue`. */
  readonly localQueue: number;
  /** Activators that serve the revision, of which this pod should push to one; 0: all. Absent: not known. */
  readonly activators?: number;
  /** Live value of `pilotlight.dev/starvation-limit`; absent: none. */
  readonly starvationLimitMs?: number;
  /** The store has the drain on record and holds no open lease on this target. */
  readonly drainAcknowledged: boolean;
  /** Leases whose end only this pod can confirm; the next report, sent at once, answers. */
  readonly ask: readonly string[];
}
