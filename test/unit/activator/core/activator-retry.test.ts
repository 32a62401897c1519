/** The table of failures on the way to a pod, row by row. */
import { describe, expect, it } from "vitest";
import { judgeAttempt, mayRepeat, mustIntercept } from "../../../../activator/core/retry.ts";
import type { AttemptFacts, RequestFacts } from "../../../../activator/core/retry.ts";
import type { ReleaseOutcome, TargetEvidence } from "../../../../store/types.ts";

const facts = (changes: Partial<RequestFacts> = {}): RequestFacts => ({
  method: "POST",
  hasIdempotencyKey: false,
  retry: "safe",
  deliveredAttempts: 1,
  replayable: true,
  ...changes,
});

const GET = facts({ method: "GET" });
const POST = facts();

interface Row {
  readonly name: string;
  readonly end: AttemptFacts;
  readonly reason?: string;
  readonly request: RequestFacts;
  readonly evidence: TargetEvidence | "none";
  readonly outcome: ReleaseOutcome;
  /** `reroute`, `repeat`, `over`, or the reason of the answer. */
  readonly next: string;
}

const reset = (reused: boolean): AttemptFacts => ({ kind: "reset", reused });
const intercepted = (status: number): AttemptFacts => ({ kind: "intercepted", status });

const ROWS: readonly Row[] = [
  {
    name: "connect failed, POST",
    end: { kind: "connect-failed" },
    request: POST,
    evidence: "connect-failed",
    outcome: "not-delivered",
    next: "reroute",
  },
  {
    name: "connect failed, retry never",
    end: { kind: "connect-failed" },
    request: facts({ retry: "never" }),
    evidence: "connect-failed",
    outcome: "not-delivered",
    next: "reroute",
  },
  {
    name: "connect failed after many deliveries",
    end: { kind: "connect-failed" },
    request: facts({ deliveredAttempts: 9 }),
    evidence: "connect-failed",
    outcome: "not-delivered",
    next: "reroute",
  },
  {
    name: "connect failed, body not held any more",
    end: { kind: "connect-failed" },
    request: facts({ replayable: false }),
    evidence: "connect-failed",
    outcome: "not-delivered",
    next: "upstream_reset",
  },
  {
    name: "421",
    end: intercepted(421),
    reason: "wrong_target",
    request: POST,
    evidence: "misdirected",
    outcome: "not-delivered",
    next: "reroute",
  },
  {
    name: "503 pod_full",
    end: intercepted(503),
    reason: "pod_full",
    request: POST,
    evidence: "pod-full",
    outcome: "not-delivered",
    next: "reroute",
  },
  {
    name: "503 draining",
    end: intercepted(503),
    reason: "draining",
    request: POST,
    evidence: "draining",
    outcome: "not-delivered",
    next: "reroute",
  },
  {
    name: "reset, reused, GET",
    end: reset(true),
    request: GET,
    evidence: "reset-reused",
    outcome: "error",
    next: "repeat",
  },
  {
    name: "reset, reused, POST",
    end: reset(true),
    request: POST,
    evidence: "reset-reused",
    outcome: "error",
    next: "upstream_reset",
  },
  {
    name: "reset, fresh, GET",
    end: reset(false),
    request: GET,
    evidence: "reset",
    outcome: "error",
    next: "repeat",
  },
  {
    name: "reset, fresh, POST",
    end: reset(false),
    request: POST,
    evidence: "reset",
    outcome: "error",
    next: "upstream_reset",
  },
  {
    name: "reset, POST with a key",
    end: reset(false),
    request: facts({ hasIdempotencyKey: true }),
    evidence: "reset",
    outcome: "error",
    next: "repeat",
  },
  {
    name: "reset, POST, idempotent service",
    end: reset(false),
    request: facts({ retry: "idempotent" }),
    evidence: "reset",
    outcome: "error",
    next: "repeat",
  },
  {
    name: "reset, GET, retry never",
    end: reset(false),
    request: facts({ method: "GET", retry: "never" }),
    evidence: "reset",
    outcome: "error",
    next: "upstream_reset",
  },
  {
    name: "reset, GET, third delivery",
    end: reset(false),
    request: facts({ method: "GET", deliveredAttempts: 3 }),
    evidence: "reset",
    outcome: "error",
    next: "upstream_reset",
  },
  {
    name: "container lost behind the sidecar, GET",
    end: intercepted(502),
    reason: "container_exited",
    request: GET,
    evidence: "none",
    outcome: "error",
    next: "repeat",
  },
  {
    name: "answer broke off",
    end: { kind: "cut" },
    request: GET,
    evidence: "reset",
    outcome: "error",
    next: "over",
  },
  {
    name: "container answers 500",
    end: { kind: "done", status: 500 },
    request: GET,
    evidence: "none",
    outcome: "error",
    next: "over",
  },
  {
    name: "container answers 404",
    end: { kind: "done", status: 404 },
    request: GET,
    evidence: "none",
    outcome: "done",
    next: "over",
  },
  {
    name: "no valid HTTP",
    end: { kind: "bad-response" },
    request: GET,
    evidence: "none",
    outcome: "error",
    next: "bad_response",
  },
  {
    name: "no first byte in time",
    end: { kind: "limit", limit: "start", began: false },
    request: GET,
    evidence: "none",
    outcome: "timeout",
    next: "response_start_timeout",
  },
  {
    name: "ran too long without an answer",
    end: { kind: "limit", limit: "total", began: false },
    request: GET,
    evidence: "none",
    outcome: "timeout",
    next: "response_timeout",
  },
  {
    name: "ran too long in mid-answer",
    end: { kind: "limit", limit: "total", began: true },
    request: GET,
    evidence: "none",
    outcome: "timeout",
    next: "over",
  },
  {
    name: "silent in mid-answer",
    end: { kind: "limit", limit: "idle", began: true },
    request: GET,
    evidence: "none",
    outcome: "timeout",
    next: "over",
  },
  {
    name: "caller gone",
    end: { kind: "client-gone" },
    request: GET,
    evidence: "none",
    outcome: "cancelled",
    next: "over",
  },
  {
    name: "cancelled here",
    end: { kind: "cancelled", began: false },
    request: GET,
    evidence: "none",
    outcome: "cancelled",
    next: "over",
  },
];

describe("judgeAttempt", () => {
  for (const row of ROWS) {
    it(`${row.name}: ${row.evidence}, ${row.next}`, () => {
      const verdict = judgeAttempt(row.end, row.reason ?? "", row.request);
      const { next } = verdict;
      expect([verdict.evidence, verdict.outcome]).toEqual([row.evidence, row.outcome]);
      expect(next.kind === "answer" ? next.reason : next.kind).toBe(row.next);
    });
  }
});

describe("mayRepeat", () => {
  for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"]) {
    it(`lets ${method} run again`, () => expect(mayRepeat(facts({ method }))).toBe(true));
  }
  for (const method of ["POST", "PATCH", "CONNECT", "get"]) {
    it(`does not let ${method} run again`, () => expect(mayRepeat(facts({ method }))).toBe(false));
  }
});

describe("mustIntercept", () => {
  const rows: readonly [status: number, reason: string, request: RequestFacts, kept: boolean][] = [
    [421, "wrong_target", POST, true],
    [503, "pod_full", facts({ replayable: false }), true],
    [503, "draining", POST, true],
    [421, "", GET, false],
    [503, "", GET, false],
    [502, "upstream_reset", GET, true],
    [502, "upstream_reset", POST, false],
    [502, "", GET, false],
    [504, "terminated", GET, false],
    [200, "", GET, false],
  ];
  for (const [status, reason, request, kept] of rows) {
    it(`${status} "${reason}" of a ${request.method}: ${kept ? "kept" : "passed on"}`, () => {
      expect(mustIntercept(status, reason, request)).toBe(kept);
    });
  }
});
