/**
 * One request on its way: asks for a slot, forwards, judges how the attempt ended, and goes on
 * until the caller has an answer. Every exit passes `#leave`, which gives the slot back.
 *
 *   acquire ──granted──► forward ──ended──► judge ──► over
 *      ▲  └─refused──► answer                 │ ├───► answer
 *      └───────────── reroute, repeat ────────┘
 */
import type { RevisionConfig } from "../common/contracts/routing.ts";
import { REASON_HEADER } from "../common/contracts/headers.ts";
import type { WireReasonName } from "../common/contracts/wire-reasons.ts";
import type { Attempt, AttemptEnd, RequestHead, ResponseHead } from "../proxy/types.ts";
import type { Lease } from "../store/types.ts";
import { checkCall } from "./admission.ts";
import { planAttempt } from "./attempt-plan.ts";
import { CallRank } from "./call-rank.ts";
import { findHeader } from "./core/caller-headers.ts";
import type { WaitClock } from "./core/deadlines.ts";
import { timeoutReason } from "./core/deadlines.ts";
import { answerHeaders, attemptHeaders, forwardedHeaders } from "./core/forward-headers.ts";
import type { HopVerdict } from "./core/hop.ts";
import type { RequestFacts, Verdict } from "./core/retry.ts";
import { judgeAttempt, mayRepeat, mustIntercept } from "./core/retry.ts";
import { ownHeaders } from "./core/own-headers.ts";
import { RequestTimer } from "./core/request-timer.ts";
import type { DispatchParts } from "./dispatch-parts.ts";
import { accountRequest } from "./dispatch-parts.ts";
import type { DispatchRequest } from "./dispatch-request.ts";
import { noteColdStart, requestFacts } from "./dispatch-request.ts";
import { answerOf, countFailure } from "./dispatch-words.ts";
import { watchAnswer } from "./follower.ts";
import type { Sender, Sending } from "./lookout.ts";
import type { CellCall } from "./spills/cell-call.ts";
import { cellCallOf } from "./spills/cell-call.ts";
import { clockOf } from "./spills/request-clock.ts";
import type { Look, Refusal, Ticket, TicketHolder } from "./ticket.ts";

/** Targets that a request remembers to have failed on; the store looks at each in a choice. */
const MAX_EXCLUDED = 16;
/** Pause before a target that failed already is tried again (bar: 250 ms). */
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 250;

export class Dispatch implements TicketHolder, Sender {
  readonly #parts: DispatchParts;
  readonly #request: DispatchRequest;
  readonly #head: RequestHead;
  readonly #forwarded: readonly string[];
  readonly #clock: WaitClock;
  readonly #timer: RequestTimer;
  readonly rank: CallRank;
  readonly #cells: CellCall;
  #ticket: Ticket | undefined;
  #lease: Lease | undefined;
  #sending: Sending | undefined;
  #excluded: readonly string[] = [];
  #arrivedAt = 0;
  #attempts = 0;
  /** Failures on a target that had failed before. */
  #repeats = 0;
  #delivered = 0;
  #cold = false;
  #hasWaited = false;
  /** Reason on an answer that the sidecar made and the caller got. */
  #sidecarReason = "";
  /** The proxy core has the request; it reports its end, that of a caller who left included. */
  #forwarding = false;
  #ended = false;

  constructor(parts: DispatchParts, request: DispatchRequest) {
    this.#parts = parts;
    this.#request = request;
    this.#clock = clockOf(request, request.hop);
    this.#timer = new RequestTimer(request.receivedAt);
    this.rank = new CallRank(parts.desk);
    const { head = request.exchange.head, hop } = request;
    this.#cells = cellCallOf(parts.spills, request, this.rank);
    this.#head = head;
    this.#forwarded = forwardedHeaders(head.headers, {
      surroundings: parts.surroundings,
      caller: request.caller,
      expectsContinue: head.expectsContinue,
      host: head.host,
      remoteAddress: head.remoteAddress,
      requestId: request.requestId,
      dropsTenant: hop === undefined && parts.desk?.dropsTenant(request.caller, head) === true,
    });
  }

  begin(): void {
    this.#parts.stockObserver?.arrived(this.#request.entry.key);
    this.#request.exchange.onClientGone(() => this.#clientGone());
    if (!this.#ended) this.#acquire(0);
  }

  admit(config: RevisionConfig): Refusal | null | Promise<Refusal | null> {
    const rank = (): null | Promise<null> => this.rank.prepare(this.#request, this.#head, config);
    const checked = checkCall(this.#parts, this.#request, this.#cells, config);
    if (checked instanceof Promise) return checked.then((refusal) => refusal ?? rank());
    return checked ?? rank();
  }

  granted(lease: Lease): void {
    const { exchange, entry } = this.#request;
    const now = this.#parts.clock.now();
    this.#lease = lease;
    this.#arrivedAt = lease.arrivedAt;
    this.#noteWait(now);
    this.#timer.granted(now);
    entry.metrics.count("choices");
    if (exchange.clientGone) return this.#clientGone();
    this.#cells.commit(exchange, () => this.#committed(lease));
  }

  #committed(lease: Lease): void {
    const { entry } = this.#request;
    // A caller may have left while another cell let the request go.
    if (this.#lease !== lease) return;
    try {
      this.#forward(lease);
    } catch (error) {
      // A fault of ours must not take the other requests of this process with it.
      this.#parts.logger.error("request not forwarded", { revision: entry.key, error });
      this.#forwarding = false;
      if (this.#sending !== undefined) this.#parts.lookout.forget(this.#sending);
      this.#leave({ evidence: "none", outcome: "error" }, 0);
      this.#answer("upstream_reset");
    }
  }

  refused(refusal: Refusal): void {
    this.#noteWait();
    this.#answer(refusal.reason, refusal);
  }

  looksElsewhere(): Look {
    return this.#cells.looksElsewhere(this.#clock, this.#parts.clock.now());
  }

  prefersElsewhere(): boolean {
    return this.#cells.prefersElsewhere(this.#clock, this.#parts.clock.now());
  }

  left(): void {
    this.#noteWait();
    this.#arrivedAt = this.#ticket?.arrivedAt ?? 0;
    this.#forwarding = true;
    const hasLeft = this.#cells.start({
      exchange: this.#request.exchange,
      head: this.#head,
      forwarded: this.#forwarded,
      timer: this.#timer,
      now: () => this.#parts.clock.now(),
      facts: () => this.#facts(),
      onAnswer: (status, reason) => this.#responded(status, reason),
      onEnd: (verdict, end) => this.#hopEnded(verdict, end),
      wrap: (attempt) => watchAnswer(attempt, this.#request.follower),
    });
    if (hasLeft) return;
    this.#forwarding = false;
    this.#acquire(0);
  }

  #hopEnded(verdict: HopVerdict, end: AttemptEnd): void {
    this.#forwarding = false;
    if (verdict.delivered) this.#delivered += 1;
    if (verdict.kind === "over") return this.#over(end);
    if (verdict.kind === "answer") return this.#answer(verdict.reason);
    this.#request.entry.metrics.countReroute(`cell-${end.kind}`);
    this.#again("", verdict.delivered ? "repeat" : "reroute");
  }

  #acquire(pauseMs: number): void {
    this.#ticket = this.#parts.hold.acquire({
      entry: this.#request.entry,
      holder: this,
      clock: this.#clock,
      exclude: this.#excluded,
      arrivedAt: this.#arrivedAt,
      onlyFree: this.#cells.onlyFree,
      pauseMs,
    });
  }

  #noteWait(now = this.#parts.clock.now()): void {
    const spent = this.#clock.spent(now);
    this.#cold ||= spent.startingMs > 0;
    this.#hasWaited ||= this.#ticket?.hasWaited === true;
    this.#timer.waited(this.#hasWaited ? spent.waitedMs : 0, spent.startingMs);
  }

  #forward(lease: Lease): void {
    const { exchange, entry } = this.#request;
    this.#attempts += 1;
    this.#forwarding = true;
    const attempt = watchAnswer(this.#cells.framed(this.#attempt(lease)), this.#request.follower);
    const sending = this.#parts.lookout.sent(attempt, { entry, lease, sender: this });
    this.#sending = sending;
    sending.running = exchange.forward(attempt);
  }

  mayRepeat(): boolean {
    return mayRepeat(this.#facts());
  }

  #attempt(lease: Lease): Attempt {
    const { clock } = this.#parts;
    const { entry, run } = this.#request;
    const runMs = run?.limitMs;
    const facts = { entry, runMs, endsAt: this.#clock.endsAt, now: clock.now() };
    return planAttempt(this.#parts, facts, {
      head: this.#head,
      address: lease.address,
      headers: this.rank.attemptHeaders(attemptHeaders(this.#forwarded, lease, runMs), lease),
      onConnected: () => this.#timer.connected(clock.now()),
      onResponse: (response) => this.#respond(response),
      onEnd: (end) => this.#attemptEnded(lease, end),
    });
  }

  #respond(response: ResponseHead): readonly string[] | "intercept" {
    if (this.#sending !== undefined) this.#parts.lookout.answered(this.#sending);
    const reason = findHeader(response.headers, REASON_HEADER);
    // Most answers are the container's own and carry none.
    if (reason !== "" && mustIntercept(response.status, reason, this.#facts())) return "intercept";
    this.#responded(response.status, reason);
    return answerHeaders(response.headers, this.#ownHeaders());
  }

  #responded(status: number, reason: string): void {
    const { exchange, entry } = this.#request;
    this.#timer.responded(this.#parts.clock.now());
    this.#sidecarReason = reason;
    if (reason !== "") entry.metrics.countError(reason);
    if (status === 101) this.#parts.upgraded.add(exchange);
    if (!this.#cold || this.#lease === undefined) return;
    noteColdStart(this.#parts.coldStarts, this.#request, this.#lease, this.#timer);
  }

  #attemptEnded(lease: Lease, seen: AttemptEnd): void {
    // One that could not be sent still has a clock, and its request was answered.
    if (this.#ended) return;
    const end = this.#sending ? this.#parts.lookout.ended(this.#sending, seen) : seen;
    const reason = end.kind === "intercepted" ? findHeader(end.headers, REASON_HEADER) : "";
    const verdict = judgeAttempt(end, reason, this.#facts());
    this.#forwarding = false;
    if (verdict.outcome !== "not-delivered") this.#delivered += 1;
    this.#leave(verdict, "status" in end ? end.status : 0);
    this.#carryOn(lease, verdict, end);
  }

  #carryOn(lease: Lease, verdict: Verdict, end: AttemptEnd): void {
    const { entry } = this.#request;
    switch (verdict.next.kind) {
      case "over":
        return this.#over(end);
      case "answer":
        return this.#answer(verdict.next.reason);
      case "reroute":
      case "repeat":
        entry.metrics.countReroute(verdict.evidence === "none" ? end.kind : verdict.evidence);
        return this.#again(lease.targetUid, verdict.next.kind);
    }
  }

  #over(end: AttemptEnd): void {
    if (this.#sidecarReason === "") countFailure(this.#request.entry.metrics, end);
    this.#finish("status" in end ? end.status : 0, end.kind === "client-gone");
  }

  /** `target` failed; empty: another cell did, and it excludes itself. */
  #again(target: string, how: "reroute" | "repeat"): void {
    const { exchange, entry } = this.#request;
    const now = this.#parts.clock.now();
    if (exchange.clientGone) return this.#finish(0, true);
    if (how === "reroute") this.#clock.charge(now - this.#timer.grantedAt);
    const isRepeated = this.#excluded.includes(target);
    if (target !== "") this.#excluded = [...this.#excluded.slice(-MAX_EXCLUDED + 1), target];
    if (entry.config !== null && this.#clock.remainingMs(entry.config, now) <= 0) {
      return this.#answer(timeoutReason(this.#clock.phase));
    }
    if (!isRepeated) return this.#acquire(0);
    // The only target there is fails again and again: not at full speed.
    this.#repeats += 1;
    this.#acquire(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#repeats));
  }

  #leave(verdict: Pick<Verdict, "evidence" | "outcome">, status: number): void {
    const lease = this.#lease;
    if (lease === undefined) return;
    this.#lease = undefined;
    const { evidence, outcome } = verdict;
    const ranMs = Math.max(0, this.#parts.clock.now() - this.#timer.grantedAt);
    const serviceMs = outcome === "not-delivered" ? 0 : ranMs;
    const release = { outcome, status, serviceMs };
    this.#parts.witness.leave({ entry: this.#request.entry, lease, evidence, release });
  }

  #clientGone(): void {
    if (this.#ended || this.#forwarding) return;
    if (this.#ticket !== undefined) this.#parts.hold.cancel(this.#ticket);
    // Nothing runs under a lease that was granted but not used yet.
    this.#leave({ evidence: "none", outcome: "not-delivered" }, 0);
    this.#finish(0, true);
  }

  #answer(found: WireReasonName, refusal?: Refusal): void {
    const { exchange, entry } = this.#request;
    const reason = this.#cells.reasonFor(found, this.#delivered);
    const words = { reason, refusal, phase: this.#clock.phase, headers: this.#ownHeaders() };
    const answer = answerOf(this.#request, words);
    if (exchange.pristine) exchange.answer(answer);
    else exchange.cut();
    this.#request.follower?.answered(answer);
    entry.metrics.countError(reason);
    this.#finish(answer.status, false);
  }

  #ownHeaders(): readonly string[] {
    const { caller, requestId } = this.#request;
    const wantsDebug = this.#parts.allowDebug && caller.debug.toLowerCase() === "true";
    const pod = this.#lease?.targetUid ?? "";
    return ownHeaders({
      more: this.rank.answerHeaders(wantsDebug, this.#timer),
      choice: this.#cells.timing,
      requestId,
      cold: this.#cold,
      times: this.#timer.times(),
      debug: wantsDebug ? { pod, attempts: this.#attempts } : null,
    });
  }

  #facts(): RequestFacts {
    return requestFacts(this.#request, this.#delivered);
  }

  #finish(status: number, cancelled: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    const { exchange, entry } = this.#request;
    const { clock, upgraded, stockObserver } = this.#parts;
    stockObserver?.left(entry.key);
    upgraded.delete(exchange);
    const end = { status, cancelled, cold: this.#cold, endedAt: clock.now() };
    this.rank.ended(status, this.#timer, end.endedAt);
    accountRequest(entry.metrics, this.#timer, end);
    this.#request.observer?.ended(this.#timer, end);
  }
}
