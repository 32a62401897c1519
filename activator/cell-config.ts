/** Options of an activator that takes part in a platform of several cells; apart, as few do. */
import { readConfig, text } from "../foundation/config.ts";
import type { Address } from "./config.ts";
import { address } from "./config.ts";

export interface CellConfig {
  /** Name of this cell; empty: this platform has one cell, and nothing else here counts. */
  readonly cell: string;
  /** Folder with one file per cell of the platform. */
  readonly cellsFolder: string;
  /** Folder with `tls.crt`, `tls.key` and `ca.crt` of this cell. */
  readonly cellCertificates: string;
  /** Port for other cells. */
  readonly cellListen: Address;
}

export function readCellConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<CellConfig> {
  const isLocal = (env["PILOTLIGHT_RUN_FOLDER"] ?? "") !== "";
  return readConfig<CellConfig>(env, {
    cell: ["PILOTLIGHT_CELL", text("")],
    cellsFolder: ["PILOTLIGHT_CELLS_FOLDER", text("/etc/pilotlight/cells")],
    cellCertificates: ["PILOTLIGHT_CELL_CERTIFICATES", text("/etc/pilotlight/cell-certificates")],
    cellListen: ["PILOTLIGHT_CELL_LISTEN", address(isLocal ? "127.0.0.1:0" : "0.0.0.0:8015")],
  });
}
