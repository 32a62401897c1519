/**
 * Where a service may run: its `regions` against the cells of the platform, and which cell keeps
 * its book of shares. A word names a cell, the region of cells, or one of their residency tags.
 */

export interface CellPlace {
  readonly name: string;
  readonly region: string;
  readonly tags: readonly string[];
}

/** Every cell of the platform. */
export const EVERYWHERE = "global";

/** Reads the annotation's list; an empty one means that only the cell where it was applied serves. */
export function parseRegions(text: string): readonly string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** False: the service belongs to the cell where it was applied, and cells are no matter for it. */
export function spansCells(regions: readonly string[]): boolean {
  return regions.length > 0;
}

export function allows(regions: readonly string[], cell: CellPlace): boolean {
  return regions.some((word) => word === EVERYWHERE || matches(word, cell));
}

/**
 * The cell that keeps the book: the first that the first matching word names, in order of names.
 * `fallback` is the cell that the operator made home of services that may run everywhere.
 */
export function homeCell(
  regions: readonly string[],
  cells: readonly CellPlace[],
  fallback: string,
): string {
  for (const word of regions) {
    if (word === EVERYWHERE) return fallback;
    const named = cells.filter((cell) => matches(word, cell)).map(({ name }) => name);
    const [first] = named.toSorted();
    if (first !== undefined) return named.includes(word) ? word : first;
  }
  return fallback;
}

function matches(word: string, cell: CellPlace): boolean {
  return word === cell.name || word === cell.region || cell.tags.includes(word);
}
