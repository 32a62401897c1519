/**
 * Outstanding estimated work of the targets: what a lease added is what its end subtracts, the
 * same integer, so that an idle target has exactly 0.
 */

interface Holding {
  readonly target: string;
  readonly serviceUs: number;
}

export class OutstandingWork {
  readonly #held = new Map<string, Holding>();
  readonly #workUs = new Map<string, number>();

  /** Books a call on a target; a call id that is already booked changes nothing. */
  add(callId: string, target: string, serviceUs: number): void {
    if (this.#held.has(callId)) return;
    this.#held.set(callId, { target, serviceUs });
    this.#workUs.set(target, this.of(target) + serviceUs);
  }

  /** Ends a call, however it ended; an unknown call id changes nothing. */
  remove(callId: string): void {
    const holding = this.#held.get(callId);
    if (holding === undefined) return;
    this.#held.delete(callId);
    const leftUs = this.of(holding.target) - holding.serviceUs;
    if (leftUs === 0) this.#workUs.delete(holding.target);
    else this.#workUs.set(holding.target, leftUs);
  }

  /** Outstanding work of a target in us. */
  of(target: string): number {
    return this.#workUs.get(target) ?? 0;
  }
}

/** Weight of the newest observation in the mean of observed wait over outstanding work. */
const WAIT_RATIO_WEIGHT = 0.05;

/**
 * Turns outstanding work into an absolute wait. The sum of solo times overstates it by about the
 * batch factor, which this learns.
 */
export class WaitRatio {
  #ratio = 1;

  observe(waitUs: number, outstandingUsAtDispatch: number): void {
    if (outstandingUsAtDispatch <= 0) return;
    this.#ratio += WAIT_RATIO_WEIGHT * (waitUs / outstandingUsAtDispatch - this.#ratio);
  }

  waitUs(outstandingUs: number): number {
    return outstandingUs * this.#ratio;
  }
}
