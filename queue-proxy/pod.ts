/**
 * The pod as routing sees it: joins readiness, occupancy, limit and drain into one snapshot, and
 * says when that changed. Everything that may change it calls `refresh`.
 */
import type { Clock } from "../common/clock.ts";
import type { PushReply, ReportedState } from "../common/contracts/push.ts";
import type { StartMarks } from "../common/contracts/routing.ts";
import type { Breaker } from "./core/breaker.ts";
import type { EngineReport } from "./core/engine-room.ts";
import type { DrainDecision } from "./core/drain.ts";
import type { Occupancy } from "./core/occupancy.ts";
import type { ContainerState, Readiness, Verdict } from "./core/readiness.ts";

export interface PodParts {
  readonly clock: Clock;
  readonly containerConcurrency: number;
  readonly readiness: Readiness;
  readonly breaker: Breaker;
  readonly occupancy: Occupancy;
  readonly drainPhase: () => DrainDecision["phase"];
  /** Routing must hear of it at once. */
  readonly onChange: () => void;
  /** An earlier life of the sidecar may have left a request running. */
  readonly isRestart: boolean;
}

/** Part of the key-value cache by which its free room must have changed to be told at once. */
const KV_NEWS_SHARE = 0.05;
/** Why a start is not over is told again at most so often: each try of a probe may say it in other words. */
const REASON_NEWS_MS = 5_000;
/** A container that reports its work does so within this time after a restart of the sidecar. */
const RESTART_PAUSE_MS = 1_000;

export interface PodState {
  readonly state: ReportedState;
  readonly reason: string;
}

export class Pod {
  readonly #parts: PodParts;
  #marks: StartMarks;
  #last = "";
  #told: { readonly reason: string; readonly at: number } = { reason: "", at: 0 };
  #toldKvTokens: number | undefined;
  #mostKvTokens = 0;
  #timer: NodeJS.Timeout | undefined;
  #isRecovering: boolean;
  #readyWaiters = new Set<(isReady: boolean) => void>();

  constructor(parts: PodParts, sidecarAt: number) {
    this.#parts = parts;
    this.#marks = { sidecarAt };
    this.#isRecovering = parts.isRestart && parts.containerConcurrency === 1;
    if (this.#isRecovering) parts.readiness.withhold("restarted, an earlier request may still run");
  }

  get marks(): StartMarks {
    return this.#marks;
  }

  start(): void {
    if (this.#isRecovering) {
      setTimeout(() => {
        if (!this.#parts.occupancy.reportsRunning) this.#recover();
      }, RESTART_PAUSE_MS).unref();
    }
  }

  current(): PodState {
    const phase = this.#parts.drainPhase();
    if (phase === "draining") return { state: "draining", reason: "the pod is being stopped" };
    const verdict: Verdict = this.#parts.readiness.verdict();
    if (phase === "asked" && verdict.state === "ready") {
      return { state: "unready", reason: "the container is being stopped" };
    }
    return verdict;
  }

  /** Room for prompts as dispatch should know it; under early binding a prompt may wait for it. */
  kvFreeTokens(): number | undefined {
    const { breaker } = this.#parts;
    const tokens = breaker.holdsCalls ? undefined : breaker.engine.kvFreeTokens;
    this.#toldKvTokens = tokens;
    return tokens;
  }

  occupied(): number {
    return this.#parts.occupancy.occupied(this.#parts.clock.now());
  }

  /** The container accepted a connection for the first time. */
  noteListening(): void {
    if (this.#marks.listeningAt !== undefined) return;
    this.#marks = { ...this.#marks, listeningAt: this.#parts.clock.now() };
  }

  /** What the container says of itself. */
  onContainerReport(report: EngineReport & { state?: ContainerState }): void {
    const { occupancy, readiness, clock, breaker } = this.#parts;
    breaker.engine.report(report);
    breaker.startWaiting();
    if (report.state !== undefined) readiness.onContainerState(report.state);
    if (report.running !== undefined) {
      occupancy.report(report.running, clock.now());
      if (report.running === 0) this.#recover();
    }
    this.refresh();
  }

  onReply(reply: PushReply): void {
    this.#parts.breaker.setLocal(reply.localQueue, reply.starvationLimitMs ?? Infinity);
  }

  /** Calls back once: true when the pod is ready, false when that will not come or takes too long. */
  whenReady(limitMs: number, onVerdict: (isReady: boolean) => void): () => void {
    const { state } = this.current();
    if (state !== "starting") {
      onVerdict(state === "ready");
      return () => {};
    }
    const timer = setTimeout(() => waiter(false), limitMs);
    const waiter = (isReady: boolean): void => {
      clearTimeout(timer);
      if (this.#readyWaiters.delete(waiter)) onVerdict(isReady);
    };
    this.#readyWaiters.add(waiter);
    return () => {
      clearTimeout(timer);
      this.#readyWaiters.delete(waiter);
    };
  }

  /** Compares with what was last said, and says it when it differs. */
  refresh(): void {
    const { breaker, occupancy, clock } = this.#parts;
    const occupied = this.occupied();
    breaker.setOccupied(occupied);
    const { state, reason } = this.current();
    if (state === "ready") this.#noteReady();
    if (state !== "starting") for (const waiter of this.#readyWaiters) waiter(state === "ready");
    const now = `${state} ${occupied} ${occupancy.reportsRunning}`;
    if (now !== this.#last || this.#hasKvNews() || this.#hasReasonNews(reason)) {
      this.#last = now;
      this.#told = { reason, at: clock.now() };
      this.#parts.onChange();
    }
    clearTimeout(this.#timer);
    const nextAt = occupancy.nextChangeAt();
    if (nextAt === undefined) return;
    this.#timer = setTimeout(() => this.refresh(), Math.max(1, Math.ceil(nextAt - clock.now())));
    this.#timer.unref();
  }

  #hasReasonNews(reason: string): boolean {
    const { clock } = this.#parts;
    return reason !== this.#told.reason && clock.now() - this.#told.at >= REASON_NEWS_MS;
  }

  /** Each call changes it a little; told is what changes a choice. */
  #hasKvNews(): boolean {
    const { breaker } = this.#parts;
    const tokens = breaker.holdsCalls ? undefined : breaker.engine.kvFreeTokens;
    if (tokens === undefined) return this.#toldKvTokens !== undefined;
    this.#mostKvTokens = Math.max(this.#mostKvTokens, tokens);
    const change = Math.abs(tokens - (this.#toldKvTokens ?? Infinity));
    return change > KV_NEWS_SHARE * this.#mostKvTokens;
  }

  #noteReady(): void {
    if (this.#marks.readyAt !== undefined) return;
    this.#marks = { ...this.#marks, readyAt: this.#parts.clock.now() };
  }

  #recover(): void {
    if (!this.#isRecovering) return;
    this.#isRecovering = false;
    this.#parts.readiness.withhold("");
    this.refresh();
  }
}
