/** Options by which a process takes part in a platform of several cells; apart, as few do. */
import { text } from "../foundation/config.ts";
import type { ParserTable } from "../foundation/config.ts";

export interface CellMemberConfig {
  /** Name of this cell; empty: this platform has one cell, and nothing else here counts. */
  readonly cell: string;
  /** Folder with one file per cell of the platform. */
  readonly cellsFolder: string;
  /** Folder with `tls.crt`, `tls.key` and `ca.crt` of this cell. */
  readonly cellCertificates: string;
}

export const CELL_MEMBER_TABLE: ParserTable<CellMemberConfig> = {
  cell: ["PILOTLIGHT_CELL", text("")],
  cellsFolder: ["PILOTLIGHT_CELLS_FOLDER", text("/etc/pilotlight/cells")],
  cellCertificates: ["PILOTLIGHT_CELL_CERTIFICATES", text("/etc/pilotlight/cell-certificates")],
};
