/**
 * What the container works on, seen from two sides: the requests that the sidecar has open, and
 * the `running` number that a container may report of itself. Where the container goes on for a
 * caller that left, its slot stays taken until the container says otherwise.
 *
 *   request ends normally: its report may lag     -> forgiven for SETTLE_MS
 *   request is cancelled, container reports       -> taken until a later report, or SETTLE_MS
 *                                                    without one that counts it
 */

import { ChurnMap } from "../../common/churn-map.ts";

/** A container's own report follows the end of a request within this time, or never. */
export const SETTLE_MS = 250;

interface Cancelled {
  readonly leaseId: string;
  readonly at: number;
}

export class Occupancy {
  #open = 0;
  #leases = new ChurnMap<number>();
  #cancelled: Cancelled[] = [];
  #settling: number[] = [];
  #running: number | undefined;

  /** The container has told its own number. */
  get reportsRunning(): boolean {
    return this.#running !== undefined;
  }

  get open(): number {
    return this.#open;
  }

  /** A request goes to the container; the lease id is empty where there is none. */
  begin(leaseId: string): void {
    this.#open += 1;
    if (leaseId !== "") this.#leases.set(leaseId, (this.#leases.get(leaseId) ?? 0) + 1);
  }

  end(leaseId: string, how: "answered" | "cancelled", now: number): void {
    this.#open -= 1;
    this.#forgetLease(leaseId);
    if (this.#running === undefined) return;
    if (how === "cancelled") this.#cancelled.push({ leaseId, at: now });
    else this.#settling.push(now);
  }

  /** The container says how many requests it works on. */
  report(running: number, now: number): void {
    this.#running = running;
    if (running <= this.#open) this.#settling = [];
    this.#dropCancelled(Math.max(0, running - this.#open), now, "all");
  }

  /** Slots taken beyond the open requests. */
  occupied(now: number): number {
    if (this.#running === undefined) return 0;
    this.#expire(now);
    const beyond = this.#running - this.#open;
    return Math.max(0, beyond - this.#settling.length, this.#cancelled.length);
  }

  /** Which of these leases still run here, cancelled ones included while the container works on. */
  stillRunning(leaseIds: readonly string[], now: number): string[] {
    this.#expire(now);
    const lingering = new Set(this.#cancelled.map((entry) => entry.leaseId));
    return leaseIds.filter((id) => this.#leases.has(id) || lingering.has(id));
  }

  /** When `occupied` may change by the clock alone; undefined when it cannot. */
  nextChangeAt(): number | undefined {
    const first = Math.min(
      this.#settling[0] ?? Infinity,
      this.#cancelled.find((entry) => !this.#isCounted(entry))?.at ?? Infinity,
    );
    return first === Infinity ? undefined : first + SETTLE_MS;
  }

  #expire(now: number): void {
    this.#settling = this.#settling.filter((at) => now - at < SETTLE_MS);
    this.#dropCancelled(Math.max(0, (this.#running ?? 0) - this.#open), now, "old");
  }

  /** Keeps the `kept` newest; of the rest all, or those past the settling time, are over. */
  #dropCancelled(kept: number, now: number, which: "all" | "old"): void {
    const excess = this.#cancelled.length - kept;
    if (excess <= 0) return;
    this.#cancelled = this.#cancelled.filter(
      (entry, index) => index >= excess || (which === "old" && now - entry.at < SETTLE_MS),
    );
  }

  #isCounted(entry: Cancelled): boolean {
    const beyond = Math.max(0, (this.#running ?? 0) - this.#open);
    return this.#cancelled.indexOf(entry) >= this.#cancelled.length - beyond;
  }

  #forgetLease(leaseId: string): void {
    const count = this.#leases.get(leaseId);
    if (count === undefined) return;
    if (count > 1) this.#leases.set(leaseId, count - 1);
    else this.#leases.delete(leaseId);
  }
}
