/** What an activator shows of the cells of its platform (`/v1/cells`): for people, not for machines. */

export const CELLS_PATH = "/v1/cells";

export interface CellsPage {
  /** The cell that shows this. */
  readonly own: string;
  /** Words about cells that could not be read. */
  readonly faults: readonly string[];
  readonly cells: readonly CellRow[];
  /** Oldest first. */
  readonly choices: readonly ChoiceRow[];
  readonly spills: readonly SpillRow[];
}

export interface CellRow {
  readonly name: string;
  readonly region: string;
  readonly isHere: boolean;
  /** Heard of within the time in which a cell is believed. */
  readonly isFresh: boolean;
  readonly ageMs: number | null;
  readonly roundTripMs: number | null;
  readonly services: readonly CellServiceRow[];
}

export interface CellServiceRow {
  /** `namespace/name`. */
  readonly service: string;
  readonly warm: number;
  /** Of those, what this activator may send for. */
  readonly offered: number;
  readonly ready: number;
  readonly starting: number;
  readonly waiting: number;
  readonly pods: number;
  /** Pods that the cell may run. */
  readonly share: number;
  /** Per second and pod. */
  readonly price: number;
}

export interface ChoiceRow {
  /** Instant, ms since the epoch. */
  readonly at: number;
  readonly service: string;
  /** Null: no cell may or can serve. */
  readonly cell: string | null;
  readonly expects: "warm" | "wait" | "start";
  /** All of it in a line. */
  readonly words: string;
  readonly verdicts: readonly CellVerdictRow[];
}

export interface CellVerdictRow {
  readonly cell: string;
  readonly reason: CellReasonWord;
  /** Until an answer could begin; null where the cell was no candidate. */
  readonly expectedMs: number | null;
}

/** Why a cell was chosen, or was not; what `chooseCell` says, in words for people. */
export const CELL_REASON_WORDS = {
  chosen: "chosen",
  "outside-regions": "the service may not run there",
  refused: "it refused this request a moment ago",
  "too-old": "nothing was heard of it for more than 3 s",
  "no-share": "it has no pod, and may start none",
  "too-far": "its answer would come after the deadline",
  "not-warm": "no slot is free there",
  farther: "a slot is free there too, but farther away",
  later: "its answer would begin later",
  dearer: "about as soon, but dearer",
  "drawn-against": "equal, and the other was drawn",
} as const;

export type CellReasonWord = keyof typeof CELL_REASON_WORDS;

export interface SpillRow {
  readonly cell: string;
  readonly spill: "warm" | "wait";
  readonly outcome: string;
  readonly count: number;
}
