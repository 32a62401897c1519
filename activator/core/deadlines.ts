/**
 * The four limits of a request, one clock each: waiting for a slot while pods exist, waiting for a
 * first pod, first byte, and running (counted from the grant of a slot). The last two are limits
 * of one attempt and kept by the proxy core; the first two are kept here.
 */
import type { RevisionConfig } from "../../common/contracts/routing.ts";

export type WaitPhase = "waiting" | "starting";

export type WaitLimits = Pick<
  RevisionConfig,
  "queueTimeoutMs" | "activationTimeoutMs" | "timeoutMs"
>;

/**
 * Time that one request spent in each phase. A rerouted request keeps its clock, so that any
 * number of undelivered attempts ends with the limits.
 */
export class WaitClock {
  #phase: WaitPhase = "waiting";
  #since: number;
  #running = true;
  #waitedMs = 0;
  #startingMs = 0;

  constructor(now: number) {
    this.#since = now;
  }

  get phase(): WaitPhase {
    return this.#phase;
  }

  /** Time so far with pods, and without. */
  spent(now: number): { readonly waitedMs: number; readonly startingMs: number } {
    const open = this.#running ? Math.max(0, now - this.#since) : 0;
    const waiting = this.#phase === "waiting" ? open : 0;
    return { waitedMs: this.#waitedMs + waiting, startingMs: this.#startingMs + open - waiting };
  }

  enter(phase: WaitPhase, now: number): void {
    this.#settle(now);
    this.#phase = phase;
    this.#running = true;
  }

  /** A slot was granted, or the request is over. */
  stop(now: number): void {
    this.#settle(now);
    this.#running = false;
  }

  /** Time of an attempt of which nothing was delivered: for the request it was waiting. */
  charge(ms: number): void {
    this.#waitedMs += ms;
  }

  remainingMs(limits: WaitLimits, now: number): number {
    const spent = this.spent(now);
    return this.#phase === "waiting"
      ? waitLimitMs(limits) - spent.waitedMs
      : limits.activationTimeoutMs - spent.startingMs;
  }

  #settle(now: number): void {
    const spent = this.spent(now);
    this.#waitedMs = spent.waitedMs;
    this.#startingMs = spent.startingMs;
    this.#since = now;
  }
}

/** `queue-timeout: 0s` means as long as the request itself may run. */
function waitLimitMs(limits: WaitLimits): number {
  return limits.queueTimeoutMs > 0 ? limits.queueTimeoutMs : limits.timeoutMs;
}

export function timeoutReason(phase: WaitPhase): "queue_timeout" | "activation_timeout" {
  return phase === "waiting" ? "queue_timeout" : "activation_timeout";
}
