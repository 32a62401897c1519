/** Counts of spilled requests by cell, kind and outcome. */
import type { SpillKind } from "../core/hop.ts";
import type { SpillOutcome } from "./spill.ts";

export interface SpillCount {
  readonly cell: string;
  readonly spill: SpillKind;
  readonly outcome: SpillOutcome;
  count: number;
}

export class SpillCounters {
  readonly #counts = new Map<string, SpillCount>();

  count(cell: string, spill: SpillKind, outcome: SpillOutcome): void {
    const key = `${cell} ${spill} ${outcome}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { cell, spill, outcome, count: 1 });
    else known.count += 1;
  }

  all(): readonly Readonly<SpillCount>[] {
    return [...this.#counts.values()];
  }
}
