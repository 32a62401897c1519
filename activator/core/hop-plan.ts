/**
 * Where a call stands in its workflow, for another cell: in us from now, because clocks of cells may
 * differ by an hour. Its budget is kept where the workflow entered; the other cell only ranks by it.
 *
 *   ready=-1200, began=-90000, budget=400000, rest=200000[, deadline=800000]
 *   objective=500000, rest=200000
 */

/** As the store's `CallPlan`: instants of this cell in us. */
interface CallPlan {
  readonly readyAt: number;
  readonly budgetUs: number;
  readonly deadlineAt: number;
  readonly restUs: number;
  readonly workflowArrivedAt: number;
}

/** As the store's `OwnObjective`. */
interface OwnObjective {
  readonly sloUs: number;
  readonly restUs: number;
}

const NUMBER = String.raw`-?\d{1,16}`;
const OF_WORKFLOW = new RegExp(
  `^ready=(${NUMBER}), began=(${NUMBER}), budget=(${NUMBER}), rest=(${NUMBER})(?:, deadline=(${NUMBER}))?$`,
);
const OF_ITS_OWN = new RegExp(`^objective=(${NUMBER}), rest=(${NUMBER})$`);

/** `nowUs` by the clock of this cell; `spentUs` since a call of its own came. */
export function formatHopPlan(
  plan: CallPlan | OwnObjective,
  { nowUs, spentUs }: { readonly nowUs: number; readonly spentUs: number },
): string {
  const rest = `rest=${whole(plan.restUs)}`;
  if ("sloUs" in plan) {
    // At least 1: 0 says that there is none.
    const left = plan.sloUs === 0 ? 0 : Math.max(1, plan.sloUs - spentUs);
    return `objective=${whole(left)}, ${rest}`;
  }
  const { readyAt, workflowArrivedAt, budgetUs, deadlineAt } = plan;
  const deadline = deadlineAt === 0 ? "" : `, deadline=${whole(deadlineAt - nowUs)}`;
  const [ready, began] = [whole(readyAt - nowUs), whole(workflowArrivedAt - nowUs)];
  return `ready=${ready}, began=${began}, budget=${whole(budgetUs)}, ${rest}${deadline}`;
}

/** Undefined for a call without a plan, and for what is none. */
export function readHopPlan(text: string, nowUs: number): CallPlan | OwnObjective | undefined {
  const own = OF_ITS_OWN.exec(text);
  if (own !== null) return { sloUs: Math.max(0, Number(own[1])), restUs: Number(own[2]) };
  const found = OF_WORKFLOW.exec(text);
  if (found === null) return undefined;
  const [, ready, began, budget, rest, deadline] = found;
  return {
    readyAt: nowUs + Number(ready),
    workflowArrivedAt: nowUs + Number(began),
    budgetUs: Number(budget),
    restUs: Number(rest),
    deadlineAt: deadline === undefined ? 0 : nowUs + Number(deadline),
  };
}

function whole(us: number): string {
  return String(Math.round(us));
}
