/** What a request tells of its failure: the line for its caller, and the word it is counted under. */
import type { WireReasonName } from "../common/contracts/wire-reasons.ts";
import type { AttemptEnd } from "../proxy/types.ts";
import type { PlatformAnswer } from "./core/answers.ts";
import { platformAnswer } from "./core/answers.ts";
import type { CallerHeaders } from "./core/caller-headers.ts";
import type { WaitPhase } from "./core/deadlines.ts";
import { refusalMessage, retryAfterS } from "./core/explain.ts";
import type { RevisionMetrics } from "./metrics.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Refusal } from "./ticket.ts";

interface Asked {
  readonly entry: RevisionEntry;
  readonly caller: CallerHeaders;
  readonly requestId: string;
}

export interface AnswerWords {
  readonly reason: WireReasonName;
  readonly refusal: Refusal | undefined;
  readonly phase: WaitPhase;
  readonly headers: readonly string[];
}

/** The platform's own answer to a request that no pod answers. */
export function answerOf({ entry, caller, requestId }: Asked, words: AnswerWords): PlatformAnswer {
  const { reason, refusal, phase, headers } = words;
  return platformAnswer({
    reason,
    message: messageFor(reason, refusal, entry),
    requestId,
    accept: caller.accept,
    contentType: caller.contentType,
    retryAfterS: retryAfterS({
      askedMs: refusal?.reason === "queue_full" ? refusal.retryAfterMs : 0,
      cold: phase === "starting",
      startTimeMs: entry.config?.startTimeMs ?? 0,
      medianWaitMs: entry.metrics.medianWaitMs(),
    }),
    headers,
  });
}

export function messageFor(
  reason: WireReasonName,
  refusal: Refusal | undefined,
  entry: RevisionEntry,
): string {
  if (refusal !== undefined && "message" in refusal) return refusal.message;
  const failure = refusal?.reason === "activation_failed" ? refusal.failure : null;
  return refusalMessage({ reason, failure, waitingFor: entry.config?.waitingFor ?? "" });
}

/** Errors that reached the caller without an answer of ours. */
export function countFailure(metrics: RevisionMetrics, end: AttemptEnd): void {
  if (end.kind === "cut") metrics.countError("cut");
  else if (end.kind === "limit") metrics.countError(`${end.limit}_limit`);
  else if (end.kind === "done" && end.status >= 500) metrics.countError("container_5xx");
}
