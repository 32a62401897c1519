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
  /** No call is open and the final one was seen; a late one may go on. */
  readonly isEnded: boolean;
  /** 0 when it has none. */
  readonly sloMs: number;
  readonly tookMs: number;
  /** Behind what the budgets planned for the stages so far; negative: credit. */
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
    isEnded: view.isEnded && view.open === 0,
    sloMs,
    tookMs,
    debtMs: sloMs === 0 || end === undefined ? 0 : ms(debtUs(view, tookMs * US_PER_MS, end.isOpen)),
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

/**
 * Time that passed less time that was planned. Each budget is a part of what was left when its stage
 * became ready, so what one stage leaves comes again in the budgets of the later ones; as parts of
 * the whole objective they add up, and no time counts twice.
 *
 *   S 10 s; first stage 3 s of it, then half of the rest -> planned after two stages: 10 (1 - 0.7 x 0.5) s
 */
function debtUs(view: WorkflowView, tookUs: number, isOpen: boolean): number {
  const { stages, sloUs, arrivedAt } = view;
  // Nothing comes after it, whatever was expected.
  if (view.isEnded && !isOpen) return tookUs - sloUs;
  const parts = stages.map(({ readyAt, budgetUs }) => {
    const leftUs = sloUs - (readyAt - arrivedAt);
    return leftUs <= 0 ? 1 : Math.min(Math.max(budgetUs / leftUs, 0), 1);
  });
  const planned = (count: number): number =>
    sloUs * (1 - parts.slice(0, count).reduce((left, part) => left * (1 - part), 1));
  const behind = tookUs - planned(stages.length);
  if (!isOpen) return behind;
  // Until it ends, a stage owes what was owed when it became ready.
  const readyAt = stages.at(-1)?.readyAt ?? arrivedAt;
  return Math.max(behind, readyAt - arrivedAt - planned(stages.length - 1));
}

function ms(us: number): number {
  return round(us / US_PER_MS);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
