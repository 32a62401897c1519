/**
 * A request between two cells: what its headers say, and what an ended hop means. Pure.
 *
 *   hop ended with                         delivered?   request
 *   connect failed                         no           next choice
 *   503 spill_refused                      no           next choice
 *   reset, sent to wait, before its 100    no           next choice: its end never left
 *   reset otherwise                        unknown      again if allowed, else 502
 *   answer broke off                       yes          nothing: the caller was cut
 */
import {
  HOP_HEADER,
  KNATIVE_NAMESPACE_HEADER,
  KNATIVE_REVISION_HEADER,
  PLAN_HEADER,
  REMAINING_HEADER,
  SPILL_HEADER,
  TENANT_HEADER,
} from "../../common/contracts/headers.ts";
import type { WireReasonName } from "../../common/contracts/wire-reasons.ts";
import { findHeader } from "./caller-headers.ts";
import type { AttemptFacts, RequestFacts } from "./retry.ts";
import { mayRepeat } from "./retry.ts";

/** `warm`: a free slot or nothing; `wait`: the request may wait there, and its end stays here. */
export type SpillKind = "warm" | "wait";

/** What of its rank goes with a call; both empty for a plain request. */
export interface CarriedRank {
  readonly tenant: string;
  /** As `formatHopPlan` writes it. */
  readonly plan: string;
}

export const NO_RANK: CarriedRank = { tenant: "", plan: "" };

export interface HopHeaders extends CarriedRank {
  readonly spill: SpillKind;
  /** What is left of the wait, ms. */
  readonly waitMs: number;
  /** What the caller's own deadline leaves, ms; infinite without one. */
  readonly deadlineMs: number;
  readonly namespace: string;
  readonly revision: string;
}

/** To stand behind the forwarded headers of a request. */
export function hopHeaderList(hop: HopHeaders): readonly string[] {
  const deadline = Number.isFinite(hop.deadlineMs) ? `, deadline=${whole(hop.deadlineMs)}` : "";
  const headers = [
    HOP_HEADER,
    "1",
    SPILL_HEADER,
    hop.spill,
    REMAINING_HEADER,
    `wait=${whole(hop.waitMs)}${deadline}`,
    KNATIVE_NAMESPACE_HEADER,
    hop.namespace,
    KNATIVE_REVISION_HEADER,
    hop.revision,
  ];
  if (hop.tenant !== "") headers.push(TENANT_HEADER, hop.tenant);
  if (hop.plan !== "") headers.push(PLAN_HEADER, hop.plan);
  return headers;
}

/** Null for a request that is no hop, whatever it came over. */
export function readHopHeaders(headers: readonly string[]): HopHeaders | null {
  if (findHeader(headers, HOP_HEADER) !== "1") return null;
  const spill = findHeader(headers, SPILL_HEADER);
  const remaining = /^wait=(\d{1,12})(?:, deadline=(\d{1,12}))?$/.exec(
    findHeader(headers, REMAINING_HEADER),
  );
  if ((spill !== "warm" && spill !== "wait") || remaining === null) return null;
  const [, waitMs, deadlineMs] = remaining;
  return {
    spill,
    waitMs: Number(waitMs),
    deadlineMs: deadlineMs === undefined ? Number.POSITIVE_INFINITY : Number(deadlineMs),
    namespace: findHeader(headers, KNATIVE_NAMESPACE_HEADER),
    revision: findHeader(headers, KNATIVE_REVISION_HEADER),
    tenant: findHeader(headers, TENANT_HEADER),
    plan: findHeader(headers, PLAN_HEADER),
  };
}

export type HopEnd = AttemptFacts & {
  /** The request's end had left this cell. */
  readonly bodyStarted?: boolean;
};

export type HopVerdict =
  /** Nothing was delivered: the next choice. */
  | { readonly kind: "elsewhere"; readonly delivered: false }
  /** It may have run, and may run once more. */
  | { readonly kind: "repeat"; readonly delivered: true }
  | { readonly kind: "answer"; readonly delivered: true; readonly reason: WireReasonName }
  | { readonly kind: "over"; readonly delivered: true };

const ELSEWHERE: HopVerdict = { kind: "elsewhere", delivered: false };
const OVER: HopVerdict = { kind: "over", delivered: true };

/** What an end alone says; else who has to be asked. A new kind of end must be placed here. */
const VERDICTS: Readonly<Record<HopEnd["kind"], HopVerdict | "undelivered" | "unanswered">> = {
  intercepted: "undelivered",
  "connect-failed": "undelivered",
  cancelled: "unanswered",
  reset: "unanswered",
  "bad-response": refuse("bad_response"),
  limit: refuse("response_timeout"),
  "client-gone": OVER,
  cut: OVER,
  done: OVER,
};

export function judgeHop(end: HopEnd, spill: SpillKind, request: RequestFacts): HopVerdict {
  // The caller has an answer, or half of one.
  if ("began" in end && end.began) return OVER;
  const verdict = VERDICTS[end.kind];
  if (verdict === "unanswered") return unanswered(end, spill, request);
  if (verdict !== "undelivered") return verdict;
  return request.replayable ? ELSEWHERE : refuse("spill_refused");
}

/** Whether the other cell's answer is its word to this one, and not for the caller. */
export function isRefusedHop(status: number, reason: string): boolean {
  return status === 503 && reason === "spill_refused";
}

function unanswered(end: HopEnd, spill: SpillKind, request: RequestFacts): HopVerdict {
  if (spill === "wait" && end.bodyStarted !== true) {
    return request.replayable ? ELSEWHERE : refuse("upstream_reset");
  }
  return mayRepeat(request) ? { kind: "repeat", delivered: true } : refuse("upstream_reset");
}

function refuse(reason: WireReasonName): HopVerdict {
  return { kind: "answer", delivered: true, reason };
}

function whole(ms: number): number {
  return Math.max(0, Math.min(999_999_999_999, Math.round(ms)));
}
