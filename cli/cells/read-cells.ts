/** Reads what an activator of a run shows of the cells, and says it of one service. */
import type { CellsPage, CellVerdictRow } from "../../common/contracts/cells-page.ts";
import { CELL_REASON_WORDS, CELLS_PATH } from "../../common/contracts/cells-page.ts";
import type { RunRecord } from "../../common/contracts/local-run.ts";
import { PlatformError } from "../../common/errors.ts";
import { formatColumns, formatDuration } from "../table.ts";

/** Null for a platform of one cell. */
export function readCells(run: RunRecord): Promise<CellsPage | null> {
  return readCellsAt(`http://${activatorOf(run)}`);
}

/** Of the activator with this base URL. */
export async function readCellsAt(url: string): Promise<CellsPage | null> {
  const response = await fetch(`${url}${CELLS_PATH}`);
  // As `viewCells` of the activator makes it.
  return response.status === 404 ? null : ((await response.json()) as CellsPage);
}

/** `host:port` of its admin side. */
export function activatorOf(run: RunRecord): string {
  const push = run.activators[0]?.push;
  if (push !== undefined) return push;
  throw new PlatformError("ERR_NOT_RUNNING", "No activator of this run is up at the moment.");
}

const EXPECTS = {
  warm: "a free slot",
  wait: "the shortest wait",
  start: "the soonest start",
} as const;

/** The last choices of a service, newest last, with the reason for every cell. */
export function choicesInWords({ choices }: CellsPage, service: string, most: number): string {
  const own = choices.filter((choice) => choice.service === service);
  if (own.length === 0) return "";
  return own
    .slice(-most)
    .map(({ at, cell, expects, verdicts }) => {
      const when = new Date(at).toISOString().slice(11, 19);
      const what = cell === null ? "no cell can serve" : `cell ${cell}, for ${EXPECTS[expects]}`;
      return `${when} ${what}\n${formatColumns(verdicts.map(verdictRow))}`;
    })
    .join("\n");
}

function verdictRow({ cell, reason, expectedMs }: CellVerdictRow): readonly string[] {
  const expected = expectedMs === null ? "" : formatDuration(expectedMs);
  return [cell, expected, CELL_REASON_WORDS[reason]];
}
