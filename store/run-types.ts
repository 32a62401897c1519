/**
 * The store of asynchronous runs in domain words. All runs of a service lie in one slot; each call
 * is one script. What must survive an activator is here, nothing else.
 */
import type {
  AnswerFacts,
  RunRecord,
  RunRequest,
  RunSecrets,
  RunState,
  ServiceKey,
} from "../common/contracts/async-runs.ts";

export interface OwnedRun {
  readonly owner: string;
  readonly id: string;
}

export interface AcceptRun extends OwnedRun {
  readonly request: RunRequest;
  readonly payload: Buffer;
  /** Digest of method, target and body: the same id with another request is a mistake. */
  readonly mark: string;
  readonly secrets: RunSecrets;
  /** Within which it must start. */
  readonly limitMs: number;
  /** It may run again although a container may have seen it. */
  readonly repeatable: boolean;
  readonly mostOpen: number;
  readonly mostBytes: number;
}

export type AcceptResult =
  | { readonly kind: "accepted" | "known"; readonly acceptedAt: number }
  /** The id belongs to another request. */
  | { readonly kind: "taken" }
  /** The service has as much unfinished or stored as it may. */
  | { readonly kind: "full" };

export interface FinishRun extends OwnedRun {
  readonly state: Extract<RunState, "success" | "failure" | "expired">;
  readonly status: number;
  readonly answer: AnswerFacts;
  readonly payload: Buffer;
  readonly deliver: boolean;
  readonly keptMs: number;
}

export interface SettleRun extends OwnedRun {
  readonly delivery: "delivered" | "failed";
  readonly tries: number;
  /** A larger answer is not kept. */
  readonly mostBytes: number;
  readonly keptMs: number;
}

export interface ClaimRuns {
  readonly owner: string;
  readonly most: number;
  readonly keptMs: number;
}

export interface ClaimedRuns {
  /** Runs of which the service keeps something. */
  readonly kept: number;
  /** Those that have not ended. */
  readonly open: number;
  readonly taken: readonly RunRecord[];
}

export interface RunStore {
  /** Resolves when the run is durable; rejects, and leaves nothing, when it cannot be made so. */
  accept(service: ServiceKey, run: AcceptRun): Promise<AcceptResult>;
  start(service: ServiceKey, run: OwnedRun): Promise<Buffer | null>;
  /** `pauseMs` -1: its owner keeps it. */
  giveBack(service: ServiceKey, run: OwnedRun & { readonly pauseMs: number }): Promise<void>;
  finish(service: ServiceKey, run: FinishRun): Promise<boolean>;
  settle(service: ServiceKey, run: SettleRun): Promise<void>;
  claim(service: ServiceKey, beat: ClaimRuns): Promise<ClaimedRuns>;
  /** Services that have runs. */
  services(): Promise<readonly ServiceKey[]>;
  /** Takes a service from that list. */
  forgetService(service: ServiceKey): Promise<void>;
  read(service: ServiceKey, id: string): Promise<RunRecord | null>;
  /** Body of a request, or of the answer once the run has ended. */
  readPayload(service: ServiceKey, id: string): Promise<Buffer>;
  /** Null once the run and its delivery are over. */
  readSecrets(service: ServiceKey, id: string): Promise<RunSecrets | null>;
  /** Which of these runs are there. */
  known(service: ServiceKey, ids: readonly string[]): Promise<readonly boolean[]>;
  /** Says of runs that an earlier store took with it that they existed, for `keptMs`. */
  noteLost(service: ServiceKey, ids: readonly string[], keptMs: number): Promise<void>;
  isLost(service: ServiceKey, id: string): Promise<boolean>;
  /** Newest first. */
  list(service: ServiceKey, most: number): Promise<readonly RunRecord[]>;
  close(): void;
}
