/**
 * Decisions of the last hour, for `explain`, the dashboard and events; bounded per revision. Ticks
 * that change nothing are one entry for as long as the same thing holds, so they never push out a
 * real change.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Explanation } from "./core/decision.ts";

const KEPT_MS = 3_600_000;
/** More only when changes come every few seconds for an hour; then the quiet entries go first. */
const KEPT_COUNT = 500;

export type Trigger = "tick" | "wake" | "pods" | "object" | "ageing" | "resync";

export interface DecisionRecord {
  readonly key: RevisionKey;
  /** Time of the store, ms. */
  readonly at: number;
  readonly trigger: Trigger;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
  readonly explanation: Explanation;
  /** Decisions that this entry stands for, the latest of which it shows; absent: one. */
  readonly repeats?: number;
  /** Instant of the first of them. */
  readonly firstAt?: number;
}

export class DecisionLog {
  #records: DecisionRecord[];

  constructor(records: readonly DecisionRecord[] = []) {
    this.#records = [...records];
  }

  get records(): readonly DecisionRecord[] {
    return this.#records;
  }

  /** Answers whether this is news: a change, or the first of a stretch in which nothing changes. */
  add(record: DecisionRecord): "news" | "repeat" {
    const last = this.#records.at(-1);
    const repeats = last !== undefined && isSameStretch(last, record);
    if (repeats) this.#records[this.#records.length - 1] = repeated(last, record);
    else this.#records.push(record);
    this.#prune(record.at);
    return repeats ? "repeat" : "news";
  }

  #prune(now: number): void {
    const first = this.#records[0];
    const tooMany = this.#records.length > KEPT_COUNT;
    if (first === undefined || (!tooMany && now - first.at <= KEPT_MS)) return;
    const young = this.#records.filter((record) => now - record.at <= KEPT_MS);
    // In steps, so that a full log is not copied at every tick.
    this.#records = tooMany ? withoutOldest(young, Math.floor(KEPT_COUNT * 0.95)) : young;
  }
}

/** Kept as text in the store; what another version wrote is left out. */
export function encodeRecord(record: DecisionRecord): string {
  return JSON.stringify(record);
}

export function decodeRecords(texts: readonly string[], key: RevisionKey): DecisionRecord[] {
  return texts.flatMap((text) => {
    try {
      // Written by `encodeRecord`; the fields that everything reads are checked.
      const record = JSON.parse(text) as DecisionRecord;
      const isSound = Number.isFinite(record.at) && record.explanation?.load !== undefined;
      return isSound ? [{ ...record, key }] : [];
    } catch {
      return [];
    }
  });
}

/** What matters of a decision that changes nothing is what it holds and why. */
function isSameStretch(last: DecisionRecord, record: DecisionRecord): boolean {
  return (
    !isChange(last) &&
    !isChange(record) &&
    last.to === record.to &&
    last.explanation.algorithm === record.explanation.algorithm &&
    last.explanation.limits.join() === record.explanation.limits.join()
  );
}

function repeated(last: DecisionRecord, record: DecisionRecord): DecisionRecord {
  return { ...record, repeats: (last.repeats ?? 1) + 1, firstAt: last.firstAt ?? last.at };
}

function isChange(record: DecisionRecord): boolean {
  return record.from !== record.to;
}

/** Quiet entries go before changes do, the oldest first. */
function withoutOldest(records: readonly DecisionRecord[], keep: number): DecisionRecord[] {
  let surplusQuiet = records.length - keep;
  const lessQuiet = records.filter((record) => isChange(record) || (surplusQuiet -= 1) < 0);
  return lessQuiet.slice(Math.max(0, lessQuiet.length - keep));
}
