/** A workflow as a line in time: what each stage took of its budget, the debt, and how it stands. */
import { describe, expect, it } from "vitest";
import { workflowRow } from "../../../dashboard/workflow-row.ts";
import type { WorkflowView } from "../../../store/types.ts";

const RECENT = { namespace: "ns", tenant: "acme", id: "q-1", workflowClass: "text2sql", at: 5_000 };
const ARRIVED = 1_000_000_000;

function view(changes: Partial<WorkflowView> = {}): WorkflowView {
  const stage = (index: number, readyMs: number, budgetMs: number, endMs: number) => ({
    stage: `s${index}`,
    index,
    readyAt: ARRIVED + readyMs * 1_000,
    budgetUs: budgetMs * 1_000,
    endedAt: endMs === 0 ? 0 : ARRIVED + endMs * 1_000,
  });
  return {
    arrivedAt: ARRIVED,
    sloUs: 1_000_000,
    deadlineAt: ARRIVED + 1_000_000,
    stageIndex: 1,
    open: 0,
    isEnded: true,
    lastTarget: "pod",
    template: [],
    stages: [stage(0, 0, 300, 400), stage(1, 450, 500, 800)],
    ...changes,
  };
}

describe("a workflow on the page", () => {
  it("shows each stage with its budget, and the debt of all", () => {
    const row = workflowRow(RECENT, view(), ARRIVED + 9e6);
    expect(row.stages).toEqual([
      { stage: "s0", fromMs: 0, tookMs: 400, budgetMs: 300, isOpen: false },
      { stage: "s1", fromMs: 450, tookMs: 350, budgetMs: 500, isOpen: false },
    ]);
    expect(row).toMatchObject({ id: "q-1", sloMs: 1_000, tookMs: 800, debtMs: -50, state: "met" });
  });

  it("lets an open stage grow, without credit for what it has not used yet", () => {
    const running = view({ open: 1, isEnded: false });
    const early = workflowRow(RECENT, running, ARRIVED + 500_000);
    expect(early.stages[1]).toMatchObject({ tookMs: 50, isOpen: true });
    expect(early).toMatchObject({ state: "running", debtMs: 100 });
    const late = workflowRow(RECENT, running, ARRIVED + 1_200_000);
    expect(late).toMatchObject({ state: "late", tookMs: 1_200, debtMs: 350 });
  });

  it("has no debt without an objective", () => {
    const row = workflowRow(RECENT, view({ sloUs: 0, deadlineAt: 0 }), ARRIVED);
    expect(row).toMatchObject({ sloMs: 0, debtMs: 0, state: "ended" });
  });
});
