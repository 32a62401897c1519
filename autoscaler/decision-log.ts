/** Decisions of the last hour, for `explain`, the dashboard and events; bounded per revision. */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Explanation } from "./core/decision.ts";

const KEPT_MS = 3_600_000;
/** An hour of ticks; more only when wakes come thick, and then the oldest go. */
const KEPT_COUNT = 1_800;

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
}

export class DecisionLog {
  #records: DecisionRecord[] = [];

  get records(): readonly DecisionRecord[] {
    return this.#records;
  }

  /** Repeats of an idle revision that changes nothing are kept once, with the latest instant. */
  add(record: DecisionRecord): void {
    const last = this.#records.at(-1);
    if (last !== undefined && isQuiet(last) && isQuiet(record)) this.#records.pop();
    this.#records.push(record);
    this.#prune(record.at);
  }

  #prune(now: number): void {
    const first = this.#records[0];
    const tooMany = this.#records.length > KEPT_COUNT;
    if (first === undefined || (!tooMany && now - first.at <= KEPT_MS)) return;
    // In steps, so that a full log is not copied at every tick.
    const keepFrom = this.#records.findIndex((record) => now - record.at <= KEPT_MS * 0.95);
    const excess = tooMany ? this.#records.length - Math.floor(KEPT_COUNT * 0.95) : 0;
    this.#records = this.#records.slice(Math.max(keepFrom, excess, 0));
  }
}

function isQuiet(record: DecisionRecord): boolean {
  return record.from === 0 && record.to === 0 && record.explanation.load.demand === 0;
}
