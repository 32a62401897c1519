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
    expect(row).toMatchObject({
      id: "q-1",
      sloMs: 1_000,
      tookMs: 800,
      debtMs: -200,
      state: "met",
    });
  });

  it("lets an open stage grow, without credit for what it has not used yet", () => {
    const running = view({ open: 1, isEnded: false });
    const early = workflowRow(RECENT, running, ARRIVED + 500_000);
    expect(early.stages[1]).toMatchObject({ tookMs: 50, isOpen: true });
    expect(early).toMatchObject({ state: "running", debtMs: 150 });
    const late = workflowRow(RECENT, running, ARRIVED + 1_200_000);
    // It goes on although it is late.
    expect(late).toMatchObject({
      state: "late",
      isEnded: false,
      tookMs: 1_200,
      debtMs: 263.6,
    });
  });

  it("counts once what a stage leaves and the later ones leave again", () => {
    const stages = [0, 1, 2].map((index) => ({
      stage: `s${index}`,
      index,
      readyAt: ARRIVED + index * 100_000,
      // Each is given what the one before left, and leaves it again.
      budgetUs: 500_000,
      endedAt: ARRIVED + (index + 1) * 100_000,
    }));
    const between = workflowRow(RECENT, view({ stages, isEnded: false }), ARRIVED + 9e6);
    expect(between).toMatchObject({ tookMs: 300, debtMs: -616.7 });
  });

  it("owes at its end what it is late", () => {
    const stage = (index: number, readyMs: number, budgetMs: number, endMs: number) => ({
      stage: `s${index}`,
      index,
      readyAt: ARRIVED + readyMs * 1_000,
      budgetUs: budgetMs * 1_000,
      endedAt: ARRIVED + endMs * 1_000,
    });
    const late = view({ stages: [stage(0, 0, 300, 700), stage(1, 700, 300, 1_250)] });
    expect(workflowRow(RECENT, late, ARRIVED + 9e6)).toMatchObject({
      state: "late",
      isEnded: true,
      debtMs: 250,
    });
    // Ready after the objective has passed: nothing is planned any more.
    const lost = view({ stages: [stage(0, 0, 300, 1_100), stage(1, 1_100, -100, 1_200)] });
    expect(workflowRow(RECENT, lost, ARRIVED + 9e6)).toMatchObject({ debtMs: 200 });
  });

  it("has no debt without an objective", () => {
    const row = workflowRow(RECENT, view({ sloUs: 0, deadlineAt: 0 }), ARRIVED);
    expect(row).toMatchObject({ sloMs: 0, debtMs: 0, state: "ended" });
  });
});
