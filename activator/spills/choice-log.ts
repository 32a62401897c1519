/** The latest choices among cells with their reasons, for people; bounded. */
import type { CellChoice } from "../../cells/core/choose-cell.ts";

const MOST = 200;
/** One entry per service and this time: a burst chooses the same a thousand times. */
const SPACING_MS = 200;

export interface ChoiceRecord {
  readonly at: number;
  readonly service: string;
  readonly choice: CellChoice;
}

export class ChoiceLog {
  readonly #records: ChoiceRecord[] = [];
  readonly #latest = new Map<string, ChoiceRecord>();

  note(record: ChoiceRecord): void {
    const last = this.#latest.get(record.service);
    const isSame = last?.choice.cell === record.choice.cell;
    if (last !== undefined && isSame && record.at - last.at < SPACING_MS) return;
    this.#latest.delete(record.service);
    this.#latest.set(record.service, record);
    this.#records.push(record);
    if (this.#records.length > MOST) this.#records.shift();
    for (const service of this.#latest.keys()) {
      if (this.#latest.size <= MOST) break;
      this.#latest.delete(service);
    }
  }

  /** Oldest first. */
  latest(most: number): readonly ChoiceRecord[] {
    return this.#records.slice(-most);
  }
}
