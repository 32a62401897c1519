/** Keeps one control stream to each cell of a list, as the directory of cells changes live. */
import type { ControlClient } from "./control-client.ts";
import type { CellEntry } from "./core/cell-entry.ts";

export interface CellFollower {
  readonly clients: Map<string, ControlClient>;
  /** A cell that is new: makes its client. */
  readonly connect: (cell: CellEntry) => void;
  /** A cell that is no more; its client is closed already. */
  readonly forget?: (name: string) => void;
}

export function followCells(
  cells: readonly CellEntry[],
  { clients, connect, forget }: CellFollower,
): void {
  const names = new Set(cells.map(({ name }) => name));
  for (const [name, client] of clients) {
    if (names.has(name)) continue;
    client.close();
    clients.delete(name);
    forget?.(name);
  }
  for (const cell of cells) {
    const client = clients.get(cell.name);
    if (client === undefined) connect(cell);
    else client.use(cell);
  }
}
