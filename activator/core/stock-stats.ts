/**
 * What the stock autoscaler is told of revisions that it scales (contract 3.7): the first request at
 * once, then averages of each period, a zero at the end. Pure; the sender owns clock and connection.
 */
import type { RevisionKey } from "../../common/contracts/routing.ts";

export interface StockStat {
  readonly revision: RevisionKey;
  readonly averageConcurrency: number;
  readonly requestCount: number;
}

interface Entry {
  concurrency: number;
  requests: number;
  area: number;
  seconds: number;
  changedAtS: number;
  /** The first request was told already, and is taken off the first period. */
  isFirstPeriod: boolean;
}

export class StockStats {
  readonly #entries = new Map<RevisionKey, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** A request arrived. What must be sent at once, or null. */
  arrived(revision: RevisionKey, nowS: number): StockStat | null {
    const known = this.#entries.get(revision);
    const entry = known ?? newEntry(nowS);
    if (known === undefined) this.#entries.set(revision, entry);
    integrate(entry, nowS);
    entry.concurrency += 1;
    entry.requests += 1;
    if (known !== undefined) return null;
    return { revision, averageConcurrency: 1, requestCount: 1 };
  }

  left(revision: RevisionKey, nowS: number): void {
    const entry = this.#entries.get(revision);
    if (entry === undefined) return;
    integrate(entry, nowS);
    entry.concurrency = Math.max(0, entry.concurrency - 1);
  }

  /** The averages since the last report. Entries without any use in the period are over. */
  report(nowS: number): StockStat[] {
    return [...this.#entries].map(([revision, entry]) => {
      integrate(entry, nowS);
      const average = entry.seconds > 0 ? entry.area / entry.seconds : 0;
      const told = entry.isFirstPeriod ? 1 : 0;
      const requestCount = entry.requests - told;
      if (average === 0 && entry.concurrency === 0) this.#entries.delete(revision);
      entry.area = 0;
      entry.seconds = 0;
      entry.requests = 0;
      entry.isFirstPeriod = false;
      return { revision, averageConcurrency: Math.max(0, average - told), requestCount };
    });
  }
}

function newEntry(nowS: number): Entry {
  return {
    concurrency: 0,
    requests: 0,
    area: 0,
    seconds: 0,
    changedAtS: nowS,
    isFirstPeriod: true,
  };
}

function integrate(entry: Entry, nowS: number): void {
  const seconds = nowS - entry.changedAtS;
  entry.changedAtS = nowS;
  if (seconds <= 0) return;
  entry.area += entry.concurrency * seconds;
  entry.seconds += seconds;
}
