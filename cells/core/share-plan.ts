/**
 * How the bounds of a service are divided over cells, seen from one of them. Pure.
 *
 *   min, initial scale   the home cell's, so that they hold once
 *   buffer               where most pods are; the home cell's when nobody has any
 *   max                  by shares: what this cell may run is what the book gave it
 */

export interface CellBounds {
  readonly minScale: number;
  readonly initialScale: number;
  readonly serviceMinScale: number | null;
}

/** Lower bounds of the service as this cell has to keep them. */
export function lowerBoundsHere(bounds: CellBounds, isHome: boolean): CellBounds {
  if (isHome) return bounds;
  return {
    minScale: 0,
    initialScale: 0,
    serviceMinScale: bounds.serviceMinScale === null ? null : 0,
  };
}

export interface CellPods {
  readonly cell: string;
  readonly pods: number;
}

/** The cell that keeps the spare pods: the one with most, then the home cell, then by name. */
export function bufferCell(cells: readonly CellPods[], home: string): string {
  const [first] = cells.toSorted(
    (left, right) =>
      right.pods - left.pods ||
      Number(right.cell === home) - Number(left.cell === home) ||
      (left.cell < right.cell ? -1 : 1),
  );
  return first === undefined || first.pods === 0 ? home : first.cell;
}

export interface ShareWish {
  /** Pods that the load asks for here, before any share. */
  readonly wanted: number;
  /** Pods that exist or are asked for. */
  readonly inUse: number;
  readonly holds: number;
  /** Kept where less is wished, so that a first start asks nobody. */
  readonly room: number;
  /** Of the service; 0 for no limit. */
  readonly max: number;
  /** The service may run here. */
  readonly isAllowed: boolean;
}

/** Pods that this cell would like to be allowed. */
export function wishedShare(wish: ShareWish): number {
  if (!wish.isAllowed) return 0;
  // Not on top of pods that run: idle room of busy cells would leave the next cell with nothing.
  const wished = Math.max(wish.wanted, wish.inUse, wish.room);
  return wish.max > 0 ? Math.min(wished, wish.max) : wished;
}

/** Whether there is something to say: more is wished, or more is held than was wished for a while. */
export function mustAsk(wish: ShareWish, calmForMs: number): "more" | "less" | null {
  const wished = wishedShare(wish);
  if (wished > wish.holds) return "more";
  const keeps = Math.max(wished, wish.inUse);
  if (keeps >= wish.holds) return null;
  return calmForMs >= GIVE_BACK_AFTER_MS || !wish.isAllowed ? "less" : null;
}

/** A wish that fell a moment ago may rise again: giving back at once would ask at once. */
const GIVE_BACK_AFTER_MS = 5_000;
