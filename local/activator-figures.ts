/** What activators of a local platform tell: totals of each, asked side by side; and of cells, by one. */
import { FIGURES_PATH } from "../common/contracts/activator-figures.ts";
import type { ActivatorFigures } from "../common/contracts/activator-figures.ts";
import type { CellsPage } from "../common/contracts/cells-page.ts";
import { CELLS_PATH } from "../common/contracts/cells-page.ts";
import type { ActivatorRecord } from "../common/contracts/local-run.ts";

const TIMEOUT_MS = 1_000;

export async function activatorFigures(
  records: readonly ActivatorRecord[],
): Promise<readonly ActivatorFigures[]> {
  const asked = await Promise.allSettled(records.map(ask));
  return asked.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/** Under the name that people know; the process adds a mark of its life. */
async function ask({ id, push }: ActivatorRecord): Promise<ActivatorFigures> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(`http://${push}${FIGURES_PATH}`, { signal });
  if (!response.ok) throw new Error(`status ${response.status}`);
  // Answered by an activator of the same version.
  return { ...((await response.json()) as ActivatorFigures), activatorId: id };
}

/** By the first that is up: each knows all cells. */
export async function readCellsPage(
  records: readonly ActivatorRecord[],
): Promise<CellsPage | null> {
  const [first] = records;
  if (first === undefined) return null;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(`http://${first.push}${CELLS_PATH}`, { signal });
  if (!response.ok) return null;
  // Answered by an activator of the same version.
  return (await response.json()) as CellsPage;
}
