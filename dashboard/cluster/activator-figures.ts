/** Totals of the activators of a cluster, asked side by side; who does not answer is left out. */
import type { Pod } from "../../autoscaler/kubernetes/objects.ts";
import { FIGURES_PATH } from "../../common/contracts/activator-figures.ts";
import type { ActivatorFigures } from "../../common/contracts/activator-figures.ts";
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
