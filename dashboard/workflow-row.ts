/**
 * A workflow as a line in time: its stages with what each was given and what it took. What a stage
 * takes beyond its budget is debt that the later ones have less for; what it leaves is credit.
 */
import type { RecentWorkflow } from "../store/knowledge.ts";
import type { WorkflowView } from "../store/types.ts";

/** Stages of a line; a page cannot show more in a useful way. */
const MOST_STAGES = 64;
const US_PER_MS = 1_000;

export interface WorkflowStageRow {
  readonly stage: string;
  /** From the start of the workflow, in ms. */
  readonly fromMs: number;
  /** So far, while it runs. */
  readonly tookMs: number;
  readonly budgetMs: number;
  readonly isOpen: boolean;
}

export interface WorkflowRow {
  readonly id: string;
  readonly namespace: string;
  readonly tenant: string;
  readonly workflowClass: string;
  /** First call, ms since the epoch. */
  readonly at: number;
  readonly state: "running" | "met" | "late" | "ended";
  /** 0 when it has none. */
  readonly sloMs: number;
  readonly tookMs: number;
  /** Time over all budgets so far; negative: credit. */
  readonly debtMs: number;
  /** Alpha, cards and the like are of revisions; a workflow may pass several. */
  readonly stages: readonly WorkflowStageRow[];
}

/** `nowUs`: by the clock of the store, as far as it is known here. */
export function workflowRow(
  recent: RecentWorkflow,
  view: WorkflowView,
  nowUs: number,
): WorkflowRow {
  const last = view.stages.length - 1;
  const stages = view.stages.slice(-MOST_STAGES).map((stage, index): WorkflowStageRow => {
    const isOpen = index === last && view.open > 0;
    const endedAt = isOpen || stage.endedAt === 0 ? nowUs : stage.endedAt;
    return {
      stage: stage.stage,
      fromMs: ms(stage.readyAt - view.arrivedAt),
      tookMs: ms(Math.max(0, endedAt - stage.readyAt)),
      budgetMs: ms(stage.budgetUs),
      isOpen,
    };
  });
  const { id, namespace, tenant, workflowClass, at } = recent;
  const end = stages.at(-1);
  const tookMs = end === undefined ? 0 : end.fromMs + end.tookMs;
  const sloMs = ms(view.sloUs);
  return {
    id,
    namespace,
    tenant,
    workflowClass,
    at,
    state: stateOf(view, { tookMs, sloMs }),
    sloMs,
    tookMs,
    debtMs: sloMs === 0 ? 0 : round(stages.reduce((sum, stage) => sum + overspent(stage), 0)),
    stages,
  };
}

function stateOf(
  view: WorkflowView,
  { tookMs, sloMs }: { readonly tookMs: number; readonly sloMs: number },
): WorkflowRow["state"] {
  if (sloMs > 0 && tookMs > sloMs) return "late";
  if (view.open > 0 || !view.isEnded) return "running";
  return sloMs > 0 ? "met" : "ended";
}

/** An open stage has not saved anything yet. */
function overspent({ tookMs, budgetMs, isOpen }: WorkflowStageRow): number {
  const over = tookMs - budgetMs;
  return isOpen ? Math.max(0, over) : over;
}

function ms(us: number): number {
  return round(us / US_PER_MS);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
