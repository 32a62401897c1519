/** The instants of one request, ms since the epoch, and the durations that are told of it. */
import type { RequestTimes } from "./server-timing.ts";

export class RequestTimer {
  readonly receivedAt: number;
  /** Grant of the slot of the latest attempt; 0 before the first. */
  grantedAt = 0;
  /** Head of the answer; 0 before it. */
  respondedAt = 0;
  #connectedAt = 0;
  #firstGrantAt = 0;
  #waitedMs = 0;
  #startingMs = 0;

  constructor(receivedAt: number) {
    this.receivedAt = receivedAt;
  }

  granted(now: number): void {
    this.grantedAt = now;
    if (this.#firstGrantAt === 0) this.#firstGrantAt = now;
    this.#connectedAt = 0;
  }

  connected(now: number): void {
    this.#connectedAt = now;
  }

  responded(now: number): void {
    this.respondedAt = now;
  }

  /** Time in the queue so far, with pods and without. */
  waited(waitedMs: number, startingMs: number): void {
    this.#waitedMs = waitedMs;
    this.#startingMs = startingMs;
  }

  times(): RequestTimes {
    const beforeGrant = this.#firstGrantAt === 0 ? 0 : this.#firstGrantAt - this.receivedAt;
    const connected = this.#connectedAt > 0;
    return {
      routeMs: beforeGrant - this.#waitedMs - this.#startingMs,
      queueMs: this.#waitedMs,
      coldStartMs: this.#startingMs,
      connectMs: connected ? this.#connectedAt - this.grantedAt : 0,
      upstreamMs: connected && this.respondedAt > 0 ? this.respondedAt - this.#connectedAt : 0,
    };
  }
}
