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
  /** The container reports its own `running` number, so a cancelled request frees its slot only when the pod confirms it. */
  readonly reportsRunning: boolean;
  /** Answer to `ask` of the last reply: the leases asked about, and those that still run here. */
  readonly asked: readonly string[];
  readonly running: readonly string[];
  readonly build: string;
  readonly marks: StartMarks;
}

export interface PushReply {
  /** The newest (boot, sequence) on record for this pod. */
  readonly ackBoot: number;
  readonly ackSequence: number;
  readonly heartbeatMs: number;
  /** Live value of `pilotlight.dev/local-queue`. */
  readonly localQueue: number;
  /** The store has the drain on record and holds no open lease on this target. */
  readonly drainAcknowledged: boolean;
  /** Leases whose end only this pod can confirm; the next report, sent at once, answers. */
  readonly ask: readonly string[];
}
