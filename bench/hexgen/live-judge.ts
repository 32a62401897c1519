/** How a live run is held against its simulation. */

export interface LiveFigures {
  readonly name: string;
  readonly workflows: number;
  readonly failed: number;
  readonly live: { readonly p50S: number; readonly p95S: number };
  readonly simulated: { readonly p50S: number; readonly p95S: number };
  /** How late timers of this process were, 99th percentile: a busy machine stretches the run. */
  readonly timersLateMs: number;
}

/** Largest relative error of a figure over the policies. */
export function largestError(figures: readonly LiveFigures[], which: "p50S" | "p95S"): number {
  const errors = figures.map(({ live, simulated }) => Math.abs(live[which] / simulated[which] - 1));
  return Math.max(...errors);
}

/** Policies nearer to each other than the error that is aimed at have no order to be kept. */
const SAME_PLACE = 0.05;

/** Whether the policies stand in the same order in both, as far as the simulator tells them apart. */
export function sameRanking(figures: readonly LiveFigures[], which: "p50S" | "p95S"): boolean {
  return figures.every((left) =>
    figures.every((right) => {
      const isApart = left.simulated[which] * (1 + SAME_PLACE) < right.simulated[which];
      return !isApart || left.live[which] < right.live[which];
    }),
  );
}

/** Why the run proves nothing, whatever its errors are; `undefined` when it does. */
export function whyUnproven(
  figures: readonly LiveFigures[],
  which: "p50S" | "p95S",
): string | undefined {
  const failed = figures.reduce((sum, figure) => sum + figure.failed, 0);
  if (failed > 0) return `${failed} workflows failed`;
  if (!sameRanking(figures, which)) return "the policies rank otherwise than in the simulator";
  return undefined;
}
