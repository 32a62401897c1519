/**
 * What became of every request of a run: what its caller saw, and what the containers saw of it.
 * Both sides are written down by the rig itself, so the product is never asked how it did.
 */
import { POD_CAPACITY, WORK_MS } from "./settings.ts";

export interface Sent {
  readonly id: string;
  /** Name of the activator that took it. */
  readonly via: string;
  readonly sentAt: number;
  endedAt: number;
  /** 0: the connection broke. */
  status: number;
  reason: string;
}

/** Counts of one run, as the table of faults shows them. */
export interface Tally {
  readonly sent: number;
  readonly answered: number;
  readonly delayed: number;
  readonly failedUndelivered: number;
  readonly failedDelivered: number;
  readonly lostWithActivator: number;
  readonly doubled: number;
  readonly overCapacity: number;
  readonly reasons: Readonly<Record<string, number>>;
}

/** An answer that came so much later than its work takes was delayed. */
const DELAY_MS = 500;

export class Ledger {
  readonly #sent = new Map<string, Sent>();
  /** Requests that left an activator on a standing connection to a pod. */
  readonly #delivered = new Set<string>();
  /** Starts in a container, by request. */
  readonly #starts = new Map<string, number>();
  #overCapacity = 0;
  /** Delays before this moment are those of processes that have just started. */
  #beganAt = Number.POSITIVE_INFINITY;
  /** Starts in a container of another service. */
  #strays = 0;

  send(id: string, via: string): Sent {
    const entry = { id, via, sentAt: performance.now(), endedAt: 0, status: 0, reason: "" };
    this.#sent.set(id, entry);
    return entry;
  }

  delivered(id: string): void {
    this.#delivered.add(id);
  }

  started(id: string, running: number): void {
    this.#starts.set(id, (this.#starts.get(id) ?? 0) + 1);
    if (running > POD_CAPACITY) this.#overCapacity += 1;
  }

  strayed(): void {
    this.#strays += 1;
  }

  get strays(): number {
    return this.#strays;
  }

  /** From now on delays count. */
  begin(): void {
    this.#beganAt = performance.now();
  }

  /** The last `count` requests were all answered, and none of them late. */
  isCalm(count: number): boolean {
    const last = [...this.#sent.values()].slice(-2 * count, -count);
    return last.length === count && last.every((sent) => isAnswered(sent) && !isDelayed(sent));
  }

  get open(): number {
    let open = 0;
    for (const { endedAt } of this.#sent.values()) if (endedAt === 0) open += 1;
    return open;
  }

  /** `killed`: activators that the fault killed; connections that ended there are their loss. */
  tally(killed: ReadonlySet<string>): Tally {
    const all = [...this.#sent.values()];
    const lost = all.filter((sent) => sent.status === 0 && killed.has(sent.via));
    const failed = all.filter((sent) => !isAnswered(sent) && !lost.includes(sent));
    const reasons: Record<string, number> = {};
    for (const { status, reason } of failed) {
      const name = `${status} ${reason}`.trim();
      reasons[name] = (reasons[name] ?? 0) + 1;
    }
    return {
      sent: all.length,
      answered: all.filter(isAnswered).length,
      delayed: all.filter((sent) => this.#isLate(sent)).length,
      failedUndelivered: failed.filter(({ id }) => !this.#reachedPod(id)).length,
      failedDelivered: failed.filter(({ id }) => this.#reachedPod(id)).length,
      lostWithActivator: lost.length,
      doubled: [...this.#starts.values()].filter((starts) => starts > 1).length,
      overCapacity: this.#overCapacity,
      reasons,
    };
  }

  /** From `sinceAt` until the last request that was delayed or failed was over. */
  recoveredAfterMs(sinceAt: number): number {
    let last = sinceAt;
    for (const sent of this.#sent.values()) {
      if (!isAnswered(sent) || this.#isLate(sent)) last = Math.max(last, sent.endedAt);
    }
    return Math.round(last - sinceAt);
  }

  /** From here on nobody outside the pod can know whether it was worked on. */
  #reachedPod(id: string): boolean {
    return this.#delivered.has(id) || this.#starts.has(id);
  }

  #isLate(sent: Sent): boolean {
    return sent.sentAt >= this.#beganAt && isAnswered(sent) && isDelayed(sent);
  }
}

function isAnswered({ status }: Sent): boolean {
  return status >= 200 && status < 300;
}

function isDelayed({ sentAt, endedAt }: Sent): boolean {
  return endedAt - sentAt > WORK_MS + DELAY_MS;
}
