/**
 * Budget, rest and order key of the calls of a stage, by the product's rules, and the two variants
 * of them that the benchmark compares.
 */
import type { QueueOrder } from "../../../common/contracts/routing.ts";
import { planStage } from "../../../common/hexgen/workflow.ts";
import type { Template } from "../../../common/hexgen/template.ts";
import type { StagePlan } from "../../../common/hexgen/workflow.ts";
import type { OrderClass } from "../../../common/urgency.ts";
import { orderClass, orderKey } from "../../../common/urgency.ts";
import type { SimulatedPolicy } from "./scenario.ts";
import type { StageTable } from "./stage-times.ts";
import { TemplatePosition } from "./stage-times.ts";
import type { WorkflowClass } from "./workload.ts";

export interface RankedWorkflow {
  readonly arrivedAt: number;
  readonly slo: number;
  position: TemplatePosition;
}

/** Lost calls of the variant `fixed-class` stand behind all others: beyond any instant in us. */
const BEHIND_ALL_US = 2 ** 50;

/** Order of the queues: `fixed-class` has a static key, so nothing crosses and no share is reserved. */
export function queueOrder(policy: SimulatedPolicy): QueueOrder {
  return policy.variant === "fixed-class" ? "edf_wf" : policy.order;
}

/** The paper's budgets go with the paper's order. */
function isPublished({ order, variant }: SimulatedPolicy): boolean {
  return order === "pq" && variant !== "platform-budgets";
}

export class Ranking {
  readonly #table: StageTable;
  readonly #starts = new Map<Template, TemplatePosition>();
  readonly #classTemplate: Template;
  readonly #policy: SimulatedPolicy;
  #shared: TemplatePosition;

  constructor(policy: SimulatedPolicy, workflowClass: WorkflowClass, table: StageTable) {
    this.#policy = policy;
    this.#table = table;
    this.#classTemplate = workflowClass.template;
    this.#shared = this.start();
  }

  /** Where a workflow of that template begins. */
  start(template: Template = this.#classTemplate): TemplatePosition {
    const known = this.#starts.get(template);
    if (known !== undefined) return known;
    const rule = isPublished(this.#policy) ? "repo" : "general";
    const position = new TemplatePosition(template, rule, this.#table);
    this.#starts.set(template, position);
    return position;
  }

  /** Advances the workflow's template; budget and rest of the stage that becomes ready. */
  startStage(workflow: RankedWorkflow, stage: string, now: number, expectedUs: number): StagePlan {
    if (this.#policy.variant === "shared-template") {
      this.#shared = this.#shared.after(stage);
      workflow.position = this.#shared;
    } else {
      workflow.position = workflow.position.after(stage);
    }
    const debt = isPublished(this.#policy) ? "unbounded" : "bounded";
    const later = workflow.position.expectedUs;
    return planStage(workflow, { now, expectedNow: expectedUs, later }, debt);
  }

  /** Class and key of a call that was dispatched to a card with that estimate. */
  rank(
    workflow: RankedWorkflow,
    plan: StagePlan,
    serviceTime: number,
    now: number,
  ): { readonly orderClass: OrderClass; readonly key: number } {
    const { order, variant } = this.#policy;
    const call = {
      readyAt: plan.readyAt,
      budget: plan.budget,
      rest: plan.rest,
      serviceTime,
      workflowArrivedAt: workflow.arrivedAt,
      deadlineAt: workflow.arrivedAt + workflow.slo,
    };
    const callClass = orderClass(order, call, now);
    if (variant !== "fixed-class") {
      return { orderClass: callClass, key: orderKey(order, call, callClass) };
    }
    const laxityKey = orderKey(order, call, 0);
    return { orderClass: 0, key: callClass === 0 ? laxityKey : laxityKey + BEHIND_ALL_US };
  }
}
