/**
 * One request on its way to the container: admitted or refused, waiting, forwarded, ended. Each
 * exit passes `#finish`, which gives back slot, lease and counters exactly once.
 *
 *   admit -> (queued ->) start -> attempt -> finish
 *      `- refused -----------------------------^
 */
import { REASON_HEADER } from "../common/contracts/headers.ts";
import type { WireReasonName } from "../common/contracts/wire-reasons.ts";
import { WIRE_REASONS } from "../common/contracts/wire-reasons.ts";
import { hasHeader, withoutHeaders, withoutHopByHop } from "../proxy/headers.ts";
import type {
  AttemptEnd,
  AttemptLimits,
  Exchange,
  ResponseHead,
  RunningAttempt,
} from "../proxy/types.ts";
import { callerAnswer, reasonAnswer } from "./answers.ts";
import type { Admission, Entrant } from "./core/breaker.ts";
import type { CallNote } from "../common/contracts/call-note.ts";
import type { Marks } from "./core/classify.ts";
import { isProxied } from "./core/classify.ts";
import { containerHeaders } from "./core/container-headers.ts";
import { attemptLimits, waitLimitMs, withCallerDeadline } from "./limits.ts";
import type { TimeoutSettings } from "./limits.ts";
import type { FlowTrace } from "./tracing.ts";
import { parseCallNote } from "../common/contracts/call-note.ts";
import { CallMeter } from "./call-meter.ts";
import { OpenFlow } from "./data-path.ts";
import type { DataPath } from "./data-path.ts";

export interface FlowRequest {
  readonly exchange: Exchange;
  readonly marks: Marks;
  readonly kind: "container-probe" | "leased" | "foreign";
}

/** Ends that leave the caller without an answer of the container. */
type FailedEnd = Extract<AttemptEnd, { kind: "connect-failed" | "reset" | "bad-response" }>;

const CONTAINER_HOST = "127.0.0.1";
const CLOSE_GOING_AWAY = 1_001;
const CLIENT_GONE_STATUS = 499;
const REASON_ONLY: ReadonlySet<string> = new Set([REASON_HEADER]);
const REPEATABLE: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
  "TRACE",
]);

export class Flow extends OpenFlow implements Entrant {
  readonly exchange: Exchange;
  readonly #path: DataPath;
  readonly #request: FlowRequest;
  readonly #via: "direct" | "proxied";
  #phase: "new" | "queued" | "running" | "ended" = "new";
  #isRetried = false;
  #isTerminated = false;
  #attempt: RunningAttempt | undefined;
  #waitTimer: NodeJS.Timeout | undefined;
  /** Body of an answer that was made here. */
  #ownBytes = 0;
  #trace: FlowTrace | undefined;
  /** When the slot was given, while the request is traced; else 0. */
  #tracedFrom = 0;
  readonly #note: CallNote | undefined;
  #meter: CallMeter | undefined;

  constructor(path: DataPath, request: FlowRequest) {
    super();
    this.exchange = request.exchange;
    this.#path = path;
    this.#request = request;
    this.#via = isProxied(request.marks) ? "proxied" : "direct";
    this.#note = parseCallNote(request.marks.call);
  }

  get leaseId(): string {
    return this.#request.marks.leaseId ?? "";
  }

  admit(): void {
    const { kind } = this.#request;
    if (kind === "container-probe") return this.#forward();
    const { drainer, metrics, stats, flows } = this.#path;
    if (kind === "foreign") drainer.noteForeign();
    else if (drainer.phase === "draining") {
      metrics.count("refused_draining");
      return this.exchange.answer(reasonAnswer("draining", "the pod is being stopped"));
    }
    this.#trace = this.#path.tracing.current?.follow(this.exchange.head.headers);
    stats.arrive(this.#path.clock.now() / 1_000, this.#via);
    flows.add(this);
    const admission = this.#enterBreaker();
    if (admission === "full") return this.#refuseFull();
    if (admission === "queued") this.#await();
  }

  /** The breaker gives the slot. */
  start(): void {
    const { breaker, metrics, occupancy, batch, clock } = this.#path;
    clearTimeout(this.#waitTimer);
    this.#phase = "running";
    if (this.#trace !== undefined) this.#tracedFrom = clock.now();
    metrics.sampleDepth(breaker.active + breaker.waiting);
    occupancy.begin(this.leaseId);
    breaker.engine.begin();
    batch.changed(breaker.active, clock.now());
    if (this.#note !== undefined) this.#meter = new CallMeter(this.#path, this.#note);
    this.#forward();
  }

  handBack(reason: "draining" | "handed_back"): boolean {
    if (this.#phase !== "queued" || this.#request.kind !== "leased") return false;
    this.#giveUp(reason, "the call waited here and was not given to the container");
    return true;
  }

  terminate(): void {
    this.#isTerminated = true;
    if (this.#phase === "queued") return this.#giveUp("terminated", "the pod is being stopped");
    if (this.exchange.pristine) this.#attempt?.cancel();
    else this.exchange.cut(CLOSE_GOING_AWAY);
  }

  #enterBreaker(): Admission {
    const { breaker } = this.#path;
    if (this.#request.kind === "foreign") return breaker.admitForeign(this);
    const { order, deadline, tenant } = this.#request.marks;
    return breaker.admitLeased(this, { order, deadline, tenant, note: this.#note });
  }

  #refuseFull(): void {
    const isForeign = this.#request.kind === "foreign";
    const reason = isForeign ? "queue_full" : "pod_full";
    this.#path.metrics.count(reason);
    this.#answer(reason, "every slot of this pod is taken");
    this.#finish("answered", 503);
  }

  #await(): void {
    this.#phase = "queued";
    this.exchange.onClientGone(() => {
      if (this.#phase === "queued") this.#finish("cancelled", CLIENT_GONE_STATUS);
    });
    if (this.#request.kind !== "foreign") return this.#path.localTick.arm();
    const limitMs = waitLimitMs(this.#timeouts());
    if (limitMs === 0) return;
    this.#waitTimer = setTimeout(() => {
      this.#path.metrics.count("timed_out");
      this.#giveUp("response_timeout", "the request waited too long for a slot");
    }, limitMs);
  }

  /** Ends a request that waits. */
  #giveUp(reason: WireReasonName, message: string): void {
    this.#answer(reason, message);
    this.#finish("cancelled", WIRE_REASONS[reason].status);
  }

  #forward(): void {
    const { exchange } = this;
    const { head } = exchange;
    const { kind } = this.#request;
    const headers = containerHeaders(head.headers, {
      remoteAddress: head.remoteAddress,
      kind: kind === "container-probe" ? kind : "traffic",
      dropsExpect: kind === "leased" && this.#request.marks.callerExpect === undefined,
    });
    this.#attempt = exchange.forward({
      host: CONTAINER_HOST,
      port: this.#path.config.userPort,
      protocol: head.httpVersion === "2" ? "h2c" : "http1",
      target: head.target,
      headers: this.#trace?.headers(headers) ?? headers,
      limits: this.#limits(),
      onResponse: (answer) => {
        this.#meter?.answered(answer);
        return clientHeaders(answer);
      },
      ...(this.#meter === undefined ? {} : { onChunk: (bytes) => this.#meter?.chunk(bytes) }),
      onEnd: (end) => this.#onEnd(end),
    });
  }

  #limits(): AttemptLimits {
    const elapsedMs = performance.now() - this.exchange.receivedAt;
    const runMs = Number(this.#request.marks.runLimit ?? "0");
    return attemptLimits(this.#timeouts(), this.#request.kind, elapsedMs, runMs);
  }

  #timeouts(): TimeoutSettings {
    return withCallerDeadline(this.#path.config, this.#request.marks);
  }

  #onEnd(end: AttemptEnd): void {
    if ("status" in end && end.kind !== "client-gone") return this.#onAnswered(end);
    switch (end.kind) {
      case "client-gone":
        this.#path.metrics.count("cancelled");
        return this.#finish("cancelled", CLIENT_GONE_STATUS);
      case "cancelled":
        return this.#onCancelled();
      case "limit":
        return this.#onLimit(end.limit, end.began);
      case "connect-failed":
      case "reset":
      case "bad-response":
        return this.#onFailure(end);
    }
  }

  #onAnswered(end: { readonly kind: string; readonly status: number }): void {
    if (end.kind === "done") this.#meter?.done();
    this.#finish("answered", end.status);
  }

  #onFailure(end: FailedEnd): void {
    switch (end.kind) {
      case "connect-failed":
        return this.#onConnectFailed(end.failure === "refused", end.message);
      case "reset":
        return this.#onReset(end.reused && !end.bodySent, end.message);
      case "bad-response":
        return this.#fail("bad_response", end.message);
    }
  }

  #onCancelled(): void {
    this.#path.metrics.count("terminated");
    if (this.#isTerminated) this.#answer("terminated", "the pod is being stopped");
    this.#finish("cancelled", 504);
  }

  #onLimit(limit: "start" | "idle" | "total", began: boolean): void {
    this.#path.metrics.count("timed_out");
    const reason = limit === "total" ? "response_timeout" : "response_start_timeout";
    if (!began) this.#answer(reason, `the ${limit} limit of the request is over`);
    this.#finish("cancelled", 504);
  }

  /** Nothing was delivered: a leased request goes back to the activator, which has other pods. */
  #onConnectFailed(isRefused: boolean, message: string): void {
    if (isRefused) this.#path.onContainerRefused();
    if (this.#request.kind !== "leased") {
      return this.#fail(isRefused ? "container_exited" : "upstream_reset", message);
    }
    this.#path.metrics.count("upstream_failed");
    this.#answer("pod_full", "the container takes no connections");
    this.#finish("answered", 503);
  }

  /** As stock does: once more, when a kept connection turned out dead and the method allows it. */
  #onReset(isSafe: boolean, message: string): void {
    const { exchange } = this;
    if (isSafe && !this.#isRetried && exchange.replayable && REPEATABLE.has(exchange.head.method)) {
      this.#isRetried = true;
      this.#path.metrics.count("retried");
      return this.#forward();
    }
    void this.#path.isContainerListening().then((isListening) => {
      if (!isListening) this.#path.onContainerRefused();
      this.#fail(isListening ? "upstream_reset" : "container_exited", message);
    });
  }

  #fail(reason: WireReasonName, message: string): void {
    this.#path.metrics.count("upstream_failed");
    this.#answer(reason, message);
    this.#finish("answered", 502);
  }

  #answer(reason: WireReasonName, message: string): void {
    const { exchange } = this;
    const { marks, kind } = this.#request;
    if (exchange.clientGone || !exchange.pristine) return;
    const answer =
      kind === "leased"
        ? reasonAnswer(reason, message)
        : callerAnswer(exchange.head, marks, { reason, message });
    this.#ownBytes = Buffer.byteLength(answer.body);
    exchange.answer(answer);
  }

  #finish(how: "answered" | "cancelled", status: number): void {
    const phase = this.#phase;
    if (phase === "ended" || this.#request.kind === "container-probe") return;
    this.#phase = "ended";
    clearTimeout(this.#waitTimer);
    const { breaker, batch, clock, flows, occupancy, pod, stats, drainer } = this.#path;
    this.#record(status);
    stats.depart(clock.now() / 1_000, this.#via);
    flows.remove(this);
    if (phase === "queued") breaker.leave(this);
    if (phase === "running") {
      occupancy.end(this.leaseId, how, clock.now());
      breaker.engine.end();
      batch.changed(breaker.active - 1, clock.now());
      // Occupied slots must be known before the freed one is given on.
      if (occupancy.reportsRunning) pod.refresh();
      breaker.release();
    }
    if (flows.size === 0) drainer.noteIdle();
  }

  #record(status: number): void {
    const { metrics, requestLog } = this.#path;
    const seconds = (performance.now() - this.exchange.receivedAt) / 1_000;
    const bytes = this.#ownBytes + (this.#attempt?.bytesDown ?? 0);
    metrics.observe(status, seconds, { up: this.#attempt?.bytesUp ?? 0, down: bytes });
    const { head } = this.exchange;
    requestLog?.(head, { status, bytes, seconds });
    const endedAt = this.#path.clock.now();
    this.#trace?.ended(head, {
      arrivedAt: endedAt - seconds * 1_000,
      startedAt: this.#tracedFrom,
      endedAt,
      status,
    });
  }
}

/** An answer of the container is its own, but for hop-by-hop headers and our reason word. */
function clientHeaders(head: ResponseHead): readonly string[] {
  const headers = withoutHopByHop(head.headers);
  return hasHeader(headers, REASON_HEADER) ? withoutHeaders(headers, REASON_ONLY) : headers;
}
