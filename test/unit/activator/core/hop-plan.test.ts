import { describe, expect, it } from "vitest";
import { formatHopPlan, readHopPlan } from "../../../../activator/core/hop-plan.ts";
import type { CallPlan } from "../../../../store/types.ts";

const HERE_US = 1_700_000_000_000_000;
/** The other cell's clock is wrong by an hour. */
const THERE_US = HERE_US + 3_600_000_000;

const PLAN: CallPlan = {
  readyAt: HERE_US - 1_200,
  workflowArrivedAt: HERE_US - 90_000,
  budgetUs: -4_000,
  restUs: 200_000,
  deadlineAt: HERE_US + 800_000,
};

const carry = (plan: Parameters<typeof formatHopPlan>[0]): ReturnType<typeof readHopPlan> =>
  readHopPlan(formatHopPlan(plan, { nowUs: HERE_US, spentUs: 300_000 }), THERE_US);

describe("the plan of a call in another cell", () => {
  it("is as far from now there as here, whatever the clocks say", () => {
    expect(carry(PLAN)).toEqual({
      ...PLAN,
      readyAt: THERE_US - 1_200,
      workflowArrivedAt: THERE_US - 90_000,
      deadlineAt: THERE_US + 800_000,
    });
  });

  it("has no deadline where there was none", () => {
    expect(carry({ ...PLAN, deadlineAt: 0 })).toMatchObject({ deadlineAt: 0 });
  });

  it("of a call of its own has less left by what was spent here", () => {
    expect(carry({ sloUs: 500_000, restUs: 20 })).toEqual({ sloUs: 200_000, restUs: 20 });
  });

  it("of a late call stays one with an objective", () => {
    expect(carry({ sloUs: 100_000, restUs: 20 })).toEqual({ sloUs: 1, restUs: 20 });
    expect(carry({ sloUs: 0, restUs: 20 })).toEqual({ sloUs: 0, restUs: 20 });
  });

  it.each(["", "ready=1", "objective=1e9, rest=2", "objective=1, rest=2, more=3"])(
    "is none where %o was sent",
    (text) => {
      expect(readHopPlan(text, HERE_US)).toBeUndefined();
    },
  );
});
