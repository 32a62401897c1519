/**
 * The four limits of a request, one clock each: waiting for a slot while pods exist, waiting for a
 * first pod, first byte, and running (counted from the grant of a slot). The last two are limits
 * of one attempt and kept by the proxy core; the first two are kept here. A deadline that the
 * caller states (`grpc-timeout`) shortens all of them.
 */
import { isGrpc, parseGrpcTimeoutMs } from "../../common/contracts/grpc.ts";
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
  readonly endsAt: number;
  /** End of the wait as the cell before this one had it left; infinity without one. */
  readonly #waitEndsAt: number;
  #phase: WaitPhase = "waiting";
  #since: number;
  #running = true;
  #waitedMs = 0;
  #startingMs = 0;

  /** `endsAt`: instant at which the caller gives up, as it said itself; undefined when it did not. */
  constructor(
    now: number,
    endsAt = Number.POSITIVE_INFINITY,
    waitEndsAt = Number.POSITIVE_INFINITY,
  ) {
    this.#since = now;
    this.#waitEndsAt = waitEndsAt;
    this.endsAt = endsAt;
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
    const leftMs =
      this.#phase === "waiting"
        ? waitLimitMs(limits) - spent.waitedMs
        : limits.activationTimeoutMs - spent.startingMs;
    return Math.min(leftMs, this.endsAt - now, this.#waitEndsAt - now);
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

/** The limit of a run that starts now: the configured one, or what the caller's deadline leaves. */
export function runLimitMs(timeoutMs: number, endsAt: number, now: number): number {
  if (endsAt === Number.POSITIVE_INFINITY) return timeoutMs;
  const leftMs = Math.max(1, endsAt - now);
  return timeoutMs === 0 ? leftMs : Math.min(timeoutMs, leftMs);
}

/** When the caller of a gRPC call gives up; infinity for all others. */
export function callerEndsAt(
  caller: { readonly contentType: string; readonly grpcTimeout: string },
  receivedAt: number,
): number {
  if (caller.grpcTimeout === "" || !isGrpc(caller.contentType)) return Number.POSITIVE_INFINITY;
  return receivedAt + (parseGrpcTimeoutMs(caller.grpcTimeout) ?? Number.POSITIVE_INFINITY);
}
