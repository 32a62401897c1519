/** Where one cell of several finds the words about all of them, on this machine. */

export interface CellPlace {
  readonly name: string;
  /** One file per cell. */
  readonly cellsFolder: string;
  /** Certificate, key and authority of this cell. */
  readonly certificates: string;
}

/** Of its activators. */
export function cellVariables(cell: CellPlace | undefined): Readonly<Record<string, string>> {
  if (cell === undefined) return {};
  return {
    PILOTLIGHT_CELL: cell.name,
    PILOTLIGHT_CELLS_FOLDER: cell.cellsFolder,
    PILOTLIGHT_CELL_CERTIFICATES: cell.certificates,
    PILOTLIGHT_CELL_LISTEN: "127.0.0.1:0",
  };
}
