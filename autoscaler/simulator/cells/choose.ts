/** The three policies: which cell a request goes to, from the figures of a moment ago. */
import { chooseCell } from "../../../cells/core/choose-cell.ts";
import { offeredSlots } from "../../../cells/core/digest.ts";
import type { Random } from "../../../common/random.ts";
import type { CellFigures, CellState } from "./cell-state.ts";
import type { CellPolicy, CellsScenario } from "./types.ts";

export interface PolicyView {
  readonly scenario: CellsScenario;
  readonly cells: readonly CellState[];
  /** Of the last second. */
  readonly digests: readonly CellFigures[];
  /** Sent from an entry to a cell since. */
  readonly sent: (entry: number, cell: number) => number;
  readonly random: Random;
  readonly atMs: number;
}

export interface Placed {
  readonly cell: number;
  /** A free slot or nothing. */
  readonly isWarm: boolean;
}

export function place(
  policy: CellPolicy,
  entry: number,
  view: PolicyView,
  tried: ReadonlySet<number>,
): Placed {
  if (policy === "nearest only") return { cell: entry, isWarm: false };
  if (policy === "warm first") return warmFirst(entry, view, tried);
  return ours(entry, view, tried);
}

function warmFirst(entry: number, view: PolicyView, tried: ReadonlySet<number>): Placed {
  const { scenario, digests, atMs, cells } = view;
  let best = -1;
  for (const [index, digest] of digests.entries()) {
    if (index === entry || tried.has(index) || cells[index]?.isLost(atMs) === true) continue;
    if (digest.warm <= view.sent(entry, index)) continue;
    const isNearer =
      best < 0 || scenario.roundTripMs(entry, index) < scenario.roundTripMs(entry, best);
    if (isNearer) best = index;
  }
  return best < 0 ? { cell: entry, isWarm: false } : { cell: best, isWarm: true };
}

function ours(entry: number, view: PolicyView, tried: ReadonlySet<number>): Placed {
  const { scenario, digests, cells, random, atMs } = view;
  const choice = chooseCell({
    cells: cells.map((cell, index) => {
      const isHere = index === entry;
      const figures = isHere ? cell.figures : (digests[index] ?? cell.figures);
      const offered = isHere ? 0 : offeredSlots(figures.warm, cells.length - 1);
      return {
        name: String(index),
        isHere,
        isAllowed: true,
        isTried: tried.has(index),
        ageMs: cell.isLost(atMs) ? Number.POSITIVE_INFINITY : 0,
        warm: Math.max(0, offered - view.sent(entry, index)),
        ready: figures.pods,
        starting: figures.starting,
        waiting: figures.waiting,
        expectedWaitMs: expectedWaitMs(figures, scenario.serviceMs, cell.spec.startMs),
        expectedStartMs: cell.spec.startMs,
        mayStart: figures.mayStart,
        slotsPerPod: 1,
        roundTripMs: scenario.roundTripMs(entry, index),
        price: cell.spec.price,
      };
    }),
    remainingMs: Number.POSITIVE_INFINITY,
    dice: [random(), random()],
  });
  const cell = choice.cell === null ? entry : Number(choice.cell);
  return { cell, isWarm: choice.expects === "warm" };
}

/** Pods that start take the queue's head with them. */
function expectedWaitMs(figures: CellFigures, serviceMs: number, startMs: number): number | null {
  if (figures.pods === 0) return figures.starting === 0 ? null : startMs;
  return ((figures.waiting + 1) * serviceMs) / figures.pods;
}
