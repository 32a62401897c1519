/**
 * One request on its way: asks for a slot, forwards, judges how the attempt ended, and goes on
 * until the caller has an answer. Every exit passes `#leave`, which gives the slot back.
 *
 *   acquire ──granted──► forward ──ended──► judge ──► over
 *      ▲  └─refused──► answer                 │ ├───► answer
 *      └───────────── reroute, repeat ────────┘
 */
import { isGrpc } from "../common/contracts/grpc.ts";
import type { RevisionConfig } from "../common/contracts/routing.ts";
import { REASON_HEADER } from "../common/contracts/headers.ts";
import type { WireReasonName } from "../common/contracts/wire-reasons.ts";
import type { Attempt, AttemptEnd, Exchange, RequestHead, ResponseHead } from "../proxy/types.ts";
import type { Lease } from "../store/types.ts";
import { attemptLimits, attemptProtocol, mustAwaitContinue } from "./attempt-plan.ts";
import { platformAnswer } from "./core/answers.ts";
import type { CallerHeaders } from "./core/caller-headers.ts";
import { findHeader } from "./core/caller-headers.ts";
import { WaitClock, callerEndsAt, timeoutReason } from "./core/deadlines.ts";
import { refusalMessage, retryAfterS } from "./core/explain.ts";
import { answerHeaders, attemptHeaders, forwardedHeaders } from "./core/forward-headers.ts";
import type { RequestFacts, Verdict } from "./core/retry.ts";
import { judgeAttempt, mustIntercept } from "./core/retry.ts";
import { ownHeaders } from "./core/own-headers.ts";
import { RequestTimer } from "./core/request-timer.ts";
import type { DispatchParts } from "./dispatch-parts.ts";
import { accountRequest } from "./dispatch-parts.ts";
import { watchAnswer } from "./follower.ts";
import type { Follower } from "./follower.ts";
import type { RevisionMetrics } from "./metrics.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Refusal, Ticket, TicketHolder } from "./ticket.ts";

/** Targets that a request remembers to have failed on; the store looks at each in a choice. */
const MAX_EXCLUDED = 16;
/** Pause before a target that failed already is tried again (bar: 250 ms). */
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 250;

export interface DispatchRequest {
  readonly exchange: Exchange;
  readonly entry: RevisionEntry;
  readonly caller: CallerHeaders;
  readonly requestId: string;
  /** Instant of the complete head, ms since the epoch. */
  readonly receivedAt: number;
  /** In place of the exchange's, where the container must see another. */
  readonly head?: RequestHead;
  /** An asynchronous run: its caller was let in when it was accepted, and it has a limit of its own. */
  readonly run?: { readonly limitMs: number };
  readonly follower?: Follower;
}

export class Dispatch implements TicketHolder {
  readonly #parts: DispatchParts;
  readonly #request: DispatchRequest;
  readonly #head: RequestHead;
  readonly #forwarded: readonly string[];
  readonly #clock: WaitClock;
  readonly #timer: RequestTimer;
  #ticket: Ticket | undefined;
  #lease: Lease | undefined;
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
    this.#clock = new WaitClock(
      request.receivedAt,
      callerEndsAt(request.caller, request.receivedAt),
    );
    this.#timer = new RequestTimer(request.receivedAt);
    const { head = request.exchange.head } = request;
    this.#head = head;
    this.#forwarded = forwardedHeaders(head.headers, {
      surroundings: parts.surroundings,
      caller: request.caller,
      expectsContinue: head.expectsContinue,
      host: head.host,
      remoteAddress: head.remoteAddress,
      requestId: request.requestId,
    });
  }

  begin(): void {
    this.#parts.stockObserver?.arrived(this.#request.entry.key);
    this.#request.exchange.onClientGone(() => this.#clientGone());
    if (!this.#ended) this.#acquire(0);
  }

  admit(config: RevisionConfig): Refusal | null | Promise<Refusal | null> {
    if (config.auth !== "jwt" || this.#request.run !== undefined) return null;
    const authorization = findHeader(this.#request.exchange.head.headers, "authorization");
    return this.#parts.callerAuth.check(authorization, `${config.namespace}/${config.service}`);
  }

  granted(lease: Lease): void {
    const { exchange, entry } = this.#request;
    const now = this.#parts.clock.now();
    this.#lease = lease;
    this.#arrivedAt = lease.arrivedAt;
    this.#noteWait();
    this.#timer.granted(now);
    entry.metrics.count("choices");
    if (exchange.clientGone) return this.#clientGone();
    try {
      this.#forward(lease);
    } catch (error) {
      // A fault of ours must not take the other requests of this process with it.
      this.#parts.logger.error("request not forwarded", { revision: entry.key, error });
      this.#forwarding = false;
      this.#leave({ evidence: "none", outcome: "error" }, 0);
      this.#answer("upstream_reset");
    }
  }

  refused(refusal: Refusal): void {
    this.#noteWait();
    this.#answer(refusal.reason, refusal);
  }

  #acquire(pauseMs: number): void {
    this.#ticket = this.#parts.hold.acquire({
      entry: this.#request.entry,
      holder: this,
      clock: this.#clock,
      exclude: this.#excluded,
      arrivedAt: this.#arrivedAt,
      pauseMs,
    });
  }

  #noteWait(): void {
    const spent = this.#clock.spent(this.#parts.clock.now());
    this.#cold ||= spent.startingMs > 0;
    this.#hasWaited ||= this.#ticket?.hasWaited === true;
    this.#timer.waited(this.#hasWaited ? spent.waitedMs : 0, spent.startingMs);
  }

  #forward(lease: Lease): void {
    const { exchange } = this.#request;
    this.#attempts += 1;
    this.#forwarding = true;
    const { follower } = this.#request;
    const attempt = this.#attempt(lease);
    exchange.forward(follower === undefined ? attempt : watchAnswer(attempt, follower));
  }

  #attempt(lease: Lease): Attempt {
    const { entry, run } = this.#request;
    const { clock, connectMs, replayBytes, surroundings } = this.#parts;
    const head = this.#head;
    const { config } = entry;
    const { endsAt } = this.#clock;
    const colon = lease.address.lastIndexOf(":");
    return {
      host: lease.address.slice(0, colon),
      port: Number(lease.address.slice(colon + 1)),
      protocol: attemptProtocol(head, config, surroundings),
      headers: attemptHeaders(this.#forwarded, lease, run?.limitMs),
      target: head.target,
      awaitContinue: mustAwaitContinue(head, replayBytes),
      limits: attemptLimits({ config, connectMs, endsAt, now: clock.now(), runMs: run?.limitMs }),
      onConnected: () => this.#timer.connected(clock.now()),
      onResponse: (response) => this.#respond(response),
      onEnd: (end) => this.#attemptEnded(lease, end),
    };
  }

  #respond(response: ResponseHead): readonly string[] | "intercept" {
    const reason = findHeader(response.headers, REASON_HEADER);
    if (mustIntercept(response.status, reason, this.#facts())) return "intercept";
    this.#responded(response.status, reason);
    return answerHeaders(response.headers, this.#ownHeaders());
  }

  #responded(status: number, reason: string): void {
    const { exchange, entry, requestId, receivedAt } = this.#request;
    this.#timer.responded(this.#parts.clock.now());
    this.#sidecarReason = reason;
    if (reason !== "") entry.metrics.countError(reason);
    if (status === 101) this.#parts.upgraded.add(exchange);
    if (!this.#cold || this.#lease === undefined) return;
    this.#parts.coldStarts.note({
      revision: entry.key,
      service: entry.metrics.service,
      requestId,
      podUid: this.#lease.targetUid,
      requestAt: receivedAt,
      dispatchedAt: this.#timer.grantedAt,
      firstByteAt: this.#timer.respondedAt,
    });
  }

  #attemptEnded(lease: Lease, end: AttemptEnd): void {
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
        if (this.#sidecarReason === "") countFailure(entry.metrics, end);
        return this.#finish("status" in end ? end.status : 0, end.kind === "client-gone");
      case "answer":
        return this.#answer(verdict.next.reason);
      case "reroute":
      case "repeat":
        entry.metrics.countReroute(verdict.evidence === "none" ? end.kind : verdict.evidence);
        return this.#again(lease, verdict.next.kind);
    }
  }

  #again(lease: Lease, how: "reroute" | "repeat"): void {
    const { exchange, entry } = this.#request;
    const now = this.#parts.clock.now();
    if (exchange.clientGone) return this.#finish(0, true);
    if (how === "reroute") this.#clock.charge(now - this.#timer.grantedAt);
    const isRepeated = this.#excluded.includes(lease.targetUid);
    this.#excluded = [...this.#excluded.slice(-MAX_EXCLUDED + 1), lease.targetUid];
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

  #answer(reason: WireReasonName, refusal?: Refusal): void {
    const { exchange, entry, caller, requestId } = this.#request;
    const answer = platformAnswer({
      reason,
      message: messageFor(reason, refusal, entry),
      requestId,
      accept: caller.accept,
      contentType: caller.contentType,
      retryAfterS: retryAfterS({
        askedMs: refusal?.reason === "queue_full" ? refusal.retryAfterMs : 0,
        cold: this.#clock.phase === "starting",
        startTimeMs: entry.config?.startTimeMs ?? 0,
        medianWaitMs: entry.metrics.medianWaitMs(),
      }),
      headers: this.#ownHeaders(),
    });
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
      requestId,
      cold: this.#cold,
      times: this.#timer.times(),
      debug: wantsDebug ? { pod, attempts: this.#attempts } : null,
    });
  }

  #facts(): RequestFacts {
    const { exchange, entry, caller } = this.#request;
    return {
      method: exchange.head.method,
      hasIdempotencyKey: caller.idempotencyKey !== "",
      retry: entry.config?.retry ?? "never",
      deliveredAttempts: this.#delivered + 1,
      replayable: exchange.replayable && exchange.pristine,
      isGrpc: isGrpc(caller.contentType),
    };
  }

  #finish(status: number, cancelled: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    const { exchange, entry } = this.#request;
    const { clock, upgraded, stockObserver } = this.#parts;
    stockObserver?.left(entry.key);
    upgraded.delete(exchange);
    const end = { status, cancelled, cold: this.#cold, endedAt: clock.now() };
    accountRequest(entry.metrics, this.#timer, end);
  }
}

function messageFor(
  reason: WireReasonName,
  refusal: Refusal | undefined,
  entry: RevisionEntry,
): string {
  if (refusal !== undefined && "message" in refusal) return refusal.message;
  const failure = refusal?.reason === "activation_failed" ? refusal.failure : null;
  return refusalMessage({ reason, failure, waitingFor: entry.config?.waitingFor ?? "" });
}

/** Errors that reached the caller without an answer of ours. */
function countFailure(metrics: RevisionMetrics, end: AttemptEnd): void {
  if (end.kind === "cut") metrics.countError("cut");
  else if (end.kind === "limit") metrics.countError(`${end.limit}_limit`);
  else if (end.kind === "done" && end.status >= 500) metrics.countError("container_5xx");
}
