/** Totals of every activator of a local platform, asked side by side; who does not answer is left out. */
import { FIGURES_PATH } from "../common/contracts/activator-figures.ts";
import type { ActivatorFigures } from "../common/contracts/activator-figures.ts";
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
