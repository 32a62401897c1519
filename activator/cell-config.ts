/** Options of an activator that takes part in a platform of several cells; apart, as few do. */
import { CELL_MEMBER_TABLE } from "../cells/config.ts";
import type { CellMemberConfig } from "../cells/config.ts";
import { readConfig } from "../foundation/config.ts";
import { address } from "../foundation/listen-address.ts";
import type { Address } from "../foundation/listen-address.ts";

export interface CellConfig extends CellMemberConfig {
  /** Port for other cells. */
  readonly cellListen: Address;
}

export function readCellConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<CellConfig> {
  const isLocal = (env["PILOTLIGHT_RUN_FOLDER"] ?? "") !== "";
  return readConfig<CellConfig>(env, {
    ...CELL_MEMBER_TABLE,
    cellListen: ["PILOTLIGHT_CELL_LISTEN", address(isLocal ? "127.0.0.1:0" : ":8015")],
  });
}
