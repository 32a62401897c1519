/**
 * What the platform knows of a workflow, and how it changes as calls open and close. This is the
 * rule that the scripts of the workflow's own key repeat, and what the simulator runs. Siblings of
 * a stage share instant, budget and rest; the same call id twice changes nothing.
 */
import { stageBudget } from "./budget.ts";
import type { Template, TemplateRule } from "./template.ts";
import { advanceTemplate, expectedTime } from "./template.ts";

export interface StagePlan {
  /** When the stage became ready. */
  readonly readyAt: number;
  readonly budget: number;
  /** Expected work from this stage on. */
  readonly rest: number;
}

export interface WorkflowState extends StagePlan {
  readonly arrivedAt: number;
  readonly slo: number;
  readonly deadlineAt: number;
  /** Index of the newest stage; -1 before the first. */
  readonly stageIndex: number;
  /** Calls open, over all stages. */
  readonly open: number;
  /** What is left after the newest stage. */
  readonly template: Template;
  /** What each call was told, by call id; `null` once it is closed. */
  readonly calls: ReadonlyMap<string, StagePlan | null>;
}

export interface OpeningCall {
  readonly callId: string;
  readonly stage: string;
  readonly stageIndex: number;
  readonly now: number;
  /** Expected time of a stage by its name, mean over the pool. */
  readonly timeOf: (stage: string) => number;
  /** Remaining stages as the caller knows them; replaces the template. */
  readonly hint?: Template;
}

export interface WorkflowRules {
  readonly template: TemplateRule;
  readonly debt: "bounded" | "unbounded";
}

export const PLATFORM_RULES: WorkflowRules = { template: "general", debt: "bounded" };

export function createWorkflow(arrivedAt: number, slo: number, template: Template): WorkflowState {
  return {
    arrivedAt,
    slo,
    deadlineAt: arrivedAt + slo,
    stageIndex: -1,
    open: 0,
    template,
    readyAt: arrivedAt,
    budget: 0,
    rest: 0,
    calls: new Map(),
  };
}

/** Opens a call; the first one of a later stage advances the workflow. */
export function openCall(
  workflow: WorkflowState,
  call: OpeningCall,
  rules: WorkflowRules = PLATFORM_RULES,
): { readonly workflow: WorkflowState; readonly plan: StagePlan } {
  const known = workflow.calls.get(call.callId);
  if (known !== undefined) return { workflow, plan: known ?? workflow };
  const advanced =
    call.stageIndex > workflow.stageIndex ? startStage(workflow, call, rules) : workflow;
  const plan = { readyAt: advanced.readyAt, budget: advanced.budget, rest: advanced.rest };
  const calls = new Map(advanced.calls).set(call.callId, plan);
  return { workflow: { ...advanced, open: advanced.open + 1, calls }, plan };
}

/** Closes a call; unknown and closed ones change nothing. */
export function closeCall(workflow: WorkflowState, callId: string): WorkflowState {
  const known = workflow.calls.get(callId);
  if (known === undefined || known === null) return workflow;
  const calls = new Map(workflow.calls).set(callId, null);
  return { ...workflow, open: workflow.open - 1, calls };
}

function startStage(
  workflow: WorkflowState,
  call: OpeningCall,
  rules: WorkflowRules,
): WorkflowState {
  const template = call.hint ?? advanceTemplate(rules.template, workflow.template, call.stage);
  const later = expectedTime(template, call.timeOf);
  return {
    ...workflow,
    stageIndex: call.stageIndex,
    template,
    ...planStage(
      workflow,
      { now: call.now, expectedNow: call.timeOf(call.stage), later },
      rules.debt,
    ),
  };
}

/** Budget and rest of a stage that becomes ready now. */
export function planStage(
  workflow: { readonly arrivedAt: number; readonly slo: number },
  stage: { readonly now: number; readonly expectedNow: number; readonly later: number },
  debt: "bounded" | "unbounded",
): StagePlan {
  const budget = stageBudget({
    slo: workflow.slo,
    elapsed: stage.now - workflow.arrivedAt,
    expectedNow: stage.expectedNow,
    expectedLater: stage.later,
    debt,
  });
  return { readyAt: stage.now, budget, rest: stage.expectedNow + stage.later };
}
