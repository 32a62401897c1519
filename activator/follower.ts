/**
 * Somebody beside the caller who wants a request's answer, as a webhook does. Apart from the
 * dispatch, so that requests without one pay nothing.
 */
import type { Attempt, AttemptEnd, OwnAnswer } from "../proxy/types.ts";

export interface Follower {
  /** The answer that the caller gets began; `headers` as the container sent them. */
  began(status: number, headers: readonly string[]): void;
  /** Valid until the return. */
  chunk(bytes: Buffer): void;
  /** The answer that began is over; not complete when it was cut, or its caller left. */
  ended(isComplete: boolean): void;
  /** The platform answered itself. */
  answered(answer: OwnAnswer): void;
}

/** The attempt itself where nobody wants its answer. */
export function watchAnswer(attempt: Attempt, follower: Follower | undefined): Attempt {
  if (follower === undefined) return attempt;
  let hasBegun = false;
  return {
    ...attempt,
    onResponse: (head) => {
      const headers = attempt.onResponse(head);
      hasBegun = headers !== "intercept";
      if (hasBegun) follower.began(head.status, head.headers);
      return headers;
    },
    onChunk: (bytes) => follower.chunk(bytes),
    onEnd: (end: AttemptEnd) => {
      attempt.onEnd(end);
      if (hasBegun) follower.ended(end.kind === "done");
    },
  };
}
