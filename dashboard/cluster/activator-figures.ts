/** What the activators of a cluster tell: totals, asked side by side, who does not answer is left out; and of cells, by one. */
import type { Pod } from "../../autoscaler/kubernetes/objects.ts";
import { isReady } from "../../autoscaler/kubernetes/pod-facts.ts";
import { FIGURES_PATH } from "../../common/contracts/activator-figures.ts";
import type { ActivatorFigures } from "../../common/contracts/activator-figures.ts";
import type { CellsPage } from "../../common/contracts/cells-page.ts";
import { CELLS_PATH } from "../../common/contracts/cells-page.ts";
import { addressOf } from "./facts.ts";

const TIMEOUT_MS = 1_000;

export async function activatorFigures(pods: readonly Pod[]): Promise<readonly ActivatorFigures[]> {
  const asked = await Promise.allSettled(pods.filter((pod) => addressOf(pod) !== "").map(ask));
  return asked.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/** Under the name of its pod; the process adds a mark of its life. */
async function ask(pod: Pod): Promise<ActivatorFigures> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(`${addressOf(pod)}${FIGURES_PATH}`, { signal });
  if (!response.ok) throw new Error(`status ${response.status}`);
  // Answered by an activator of the same version.
  return { ...((await response.json()) as ActivatorFigures), activatorId: pod.metadata.name };
}

/** By the first that is ready: each knows all cells. Null where there is one cell. */
export async function activatorCells(pods: readonly Pod[]): Promise<CellsPage | null> {
  const pod = pods.find((one) => isReady(one) && addressOf(one) !== "");
  if (pod === undefined) return null;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(`${addressOf(pod)}${CELLS_PATH}`, { signal });
  // Answered by an activator of the same version.
  return response.ok ? ((await response.json()) as CellsPage) : null;
}
