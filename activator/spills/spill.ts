/**
 * One request on its way through another cell: how it is sent there, what its end means, and what
 * its caller is told of the choice. The dispatch owns the request before and after.
 */
import { REASON_HEADER, SERVER_TIMING_HEADER } from "../../common/contracts/headers.ts";
import type { CellEntry } from "../../cells/core/cell-entry.ts";
import type {
  Attempt,
  AttemptEnd,
  AttemptLimits,
  Dialer,
  Exchange,
  RequestHead,
  ResponseHead,
  RunningAttempt,
} from "../../proxy/types.ts";
import { findHeader } from "../core/caller-headers.ts";
import { answerHeaders, withHost } from "../core/forward-headers.ts";
import type { CarriedRank, HopHeaders, HopVerdict } from "../core/hop.ts";
import { hopHeaderList, isRefusedHop, judgeHop } from "../core/hop.ts";
import type { RequestFacts } from "../core/retry.ts";

/** Two round trips to the far side of the world, and some. */
const CONNECT_MS = 2_000;

export interface SpillPlan {
  readonly cell: CellEntry;
  readonly dialer: Dialer;
  readonly hop: HopHeaders;
  /** The reasons of the choice, in a line. */
  readonly words: string;
  /** Of the whole stay in the other cell, 0 for none. */
  readonly totalMs: number;
  readonly onLeave: (spill: Spill) => void;
  /** `outcome` for the metrics. */
  readonly onEnd: (spill: Spill, outcome: SpillOutcome) => void;
}

export type SpillOutcome = "served" | "refused" | "undelivered" | "broken" | "cancelled";

export interface SpilledRequest {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly forwarded: readonly string[];
  /** As it stands when the request leaves. */
  readonly rank: { carried(): CarriedRank };
  readonly facts: () => RequestFacts;
  readonly onConnected: () => void;
  /** The answer of the other cell begins. */
  readonly onAnswer: (status: number, reason: string) => void;
  readonly onEnd: (verdict: HopVerdict, end: AttemptEnd) => void;
}

export class Spill {
  readonly plan: SpillPlan;
  readonly #request: SpilledRequest;
  #running: RunningAttempt | undefined;
  #answered = false;

  constructor(plan: SpillPlan, request: SpilledRequest) {
    this.plan = plan;
    this.#request = request;
  }

  /** Its end is still here: the other cell has handed it to nobody. */
  get isHeldBack(): boolean {
    return this.#isHeldBack && this.#running?.bodyStarted !== true;
  }

  /** Nothing of an answer came yet, so that a lost cell can still be left. */
  get isUnanswered(): boolean {
    return !this.#answered;
  }

  /** The proxy core has it from here on. `wrap` lets others look at the attempt. */
  start(wrap: (attempt: Attempt) => Attempt): void {
    this.plan.onLeave(this);
    this.#running = this.#request.exchange.forward(wrap(this.#attempt()));
  }

  /** The cell was lost: the hop ends, and the request goes on as the rules say. */
  abandon(): void {
    this.#running?.cancel();
  }

  /** Its end stays here until the other cell has a slot for it. A switch of protocols has none. */
  get #isHeldBack(): boolean {
    return this.plan.hop.spill === "wait" && this.#request.head.upgrade === "";
  }

  #attempt(): Attempt {
    const { head, forwarded, onConnected, rank } = this.#request;
    const { cell, dialer } = this.plan;
    const hop = { ...this.plan.hop, ...rank.carried() };
    const colon = cell.peer.lastIndexOf(":");
    return {
      host: cell.peer.slice(0, colon).replace(/^\[|\]$/g, ""),
      port: Number(cell.peer.slice(colon + 1)),
      dialer,
      protocol: head.httpVersion === "2" ? "h2c" : "http1",
      headers: withHost(forwarded, head.host).concat(hopHeaderList(hop)),
      target: head.target,
      ...(this.#isHeldBack
        ? { awaitContinue: true, framing: "ended" as const }
        : this.#sentAtOnce()),
      limits: this.#limits(),
      onConnected,
      onResponse: (response) => this.#respond(response),
      onEnd: (end) => this.#ended(end),
    };
  }

  /** A body that is too long to be held for a second try waits for the slot, warm or not. */
  #sentAtOnce(): { readonly awaitContinue: boolean } {
    const { head } = this.#request;
    const isLong = head.contentLength < 0 || head.contentLength > LONGEST_AT_ONCE_BYTES;
    return { awaitContinue: head.expectsContinue || isLong };
  }

  /** Waiting, starting and running are the other cell's to limit; it knows what is left of each. */
  #limits(): AttemptLimits {
    return { connectMs: CONNECT_MS, startMs: 0, idleMs: 0, totalMs: this.plan.totalMs };
  }

  #respond(response: ResponseHead): readonly string[] | "intercept" {
    const reason = findHeader(response.headers, REASON_HEADER);
    if (isRefusedHop(response.status, reason)) return "intercept";
    this.#answered = true;
    this.#request.onAnswer(response.status, reason);
    return answerHeaders(response.headers, [SERVER_TIMING_HEADER, this.timing]);
  }

  /** For `Server-Timing`, beside what the other cell says of its own times. */
  get timing(): string {
    const { cell, hop, words } = this.plan;
    const way = hop.spill === "wait" && !this.isHeldBack ? "given" : hop.spill;
    return `cell;desc="${cell.name}", spill;desc="${way}", choice;desc="${words}"`;
  }

  #ended(end: AttemptEnd): void {
    const verdict = judgeHop(end, this.#isHeldBack ? "wait" : "warm", this.#request.facts());
    this.plan.onEnd(this, outcomeOf(verdict, end));
    this.#request.onEnd(verdict, end);
  }
}

/** As much as is kept for a second try (bar: 1 MiB). */
const LONGEST_AT_ONCE_BYTES = 1_048_576;

function outcomeOf(verdict: HopVerdict, end: AttemptEnd): SpillOutcome {
  if (end.kind === "intercepted") return "refused";
  if (end.kind === "client-gone") return "cancelled";
  if (end.kind === "done") return "served";
  return verdict.delivered ? "broken" : "undelivered";
}
