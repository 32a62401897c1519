/**
 * A workflow's objective, split over its stages: each gets its share, by expected work, of what is
 * left. A stage that overran leaves less to all later ones (debt), an early one more (credit).
 */

export interface BudgetInput {
  /** End-to-end objective of the workflow. */
  readonly slo: number;
  /** Since the arrival of the workflow, tool time included. */
  readonly elapsed: number;
  /** Expected time of the stage that becomes ready. */
  readonly expectedNow: number;
  /** Sum of the expected times of the stages still to come. */
  readonly expectedLater: number;
  /** `bounded`: debt counts up to one objective, so that urgency stays finite. */
  readonly debt: "bounded" | "unbounded";
}

/** What is left of the objective; negative once it is exceeded. */
export function remainingObjective(input: BudgetInput): number {
  const left = input.slo - input.elapsed;
  return input.debt === "bounded" ? Math.max(left, -input.slo) : left;
}

/** Budget of the stage, in the unit of the input. */
export function stageBudget(input: BudgetInput): number {
  return (
    (remainingObjective(input) * input.expectedNow) / (input.expectedNow + input.expectedLater)
  );
}
