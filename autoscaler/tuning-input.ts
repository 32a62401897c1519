/** The recent past in the words of the simulator: what the tuner replays for each alpha. */
import type { QueueOrder } from "../common/contracts/routing.ts";
import type { ClassKnowledge } from "../common/hexgen/knowledge.ts";
import type { WindowCard, WindowWorkflow } from "./core/learning/tuning-window.ts";
import type { RecordedWorkflow, TuningInput } from "./simulator/hexgen/tune-alpha.ts";
import { baseSloUs } from "./simulator/hexgen/text2sql.ts";
import type { StageFacts, WorkflowClass } from "./simulator/hexgen/workload.ts";

/** Objective of a workflow that has none, as a multiple of its time alone: roomy. */
const NO_SLO_SCALE = 15;

export interface TuningFacts {
  readonly window: readonly WindowWorkflow[];
  readonly pool: readonly WindowCard[];
  /** Of the class that most of the window belongs to. */
  readonly known: ClassKnowledge | undefined;
  readonly order: QueueOrder;
  readonly binding: "late" | "early";
  readonly currentAlpha: number;
}

/** Null when there is nothing to replay. */
export function tuningInput(facts: TuningFacts): TuningInput | null {
  const { window, pool, order, binding, currentAlpha } = facts;
  if (window.length === 0 || pool.length < 2) return null;
  const workflowClass = classOf(facts);
  const baseUs = baseSloUs(workflowClass, pool) || 1;
  const firstAtUs = window[0]?.arrivedAtUs ?? 0;
  return {
    workflowClass,
    pool,
    prefixReuse: "off",
    policy: {
      dispatch: binding === "early" ? "batch" : "wb",
      order,
      admission: binding === "early" ? "backfill" : "blocking",
    },
    currentAlpha,
    recorded: window.map((workflow) => recorded(workflow, { firstAtUs, baseUs })),
  };
}

function recorded(
  workflow: WindowWorkflow,
  { firstAtUs, baseUs }: { readonly firstAtUs: number; readonly baseUs: number },
): RecordedWorkflow {
  const arrivedAtUs = Math.round(workflow.arrivedAtUs - firstAtUs);
  return {
    arrivalUnits: arrivedAtUs,
    arrivedAtUs,
    sloScale: workflow.sloUs === 0 ? NO_SLO_SCALE : workflow.sloUs / baseUs,
    stages: workflow.stages,
  };
}

/** Typical sizes of every stage of the window, and the template of its class. */
function classOf({ window, known }: TuningFacts): WorkflowClass {
  const sizes = new Map<string, { input: number; output: number; calls: number }>();
  for (const { stages } of window) {
    for (const { stage, calls } of stages) {
      const sum = sizes.get(stage) ?? { input: 0, output: 0, calls: 0 };
      sizes.set(stage, sum);
      for (const { inputTokens, outputTokens } of calls) {
        sum.input += inputTokens;
        sum.output += outputTokens;
        sum.calls += 1;
      }
    }
  }
  const stages: Record<string, StageFacts> = {};
  for (const [stage, { input, output, calls }] of sizes) {
    stages[stage] = {
      inputTokens: Math.round(input / calls),
      outputTokens: Math.round(output / calls),
      sharedPrefixTokens: 0,
      isChained: false,
    };
  }
  const template =
    known === undefined || known.template.length === 0 ? ways(window) : known.template;
  return { template, stages };
}

/** Without a learnt template the longest way of the window stands for all. */
function ways(window: readonly WindowWorkflow[]): WorkflowClass["template"] {
  let longest: WindowWorkflow["stages"] = [];
  for (const { stages } of window) if (stages.length > longest.length) longest = stages;
  return longest.map(({ stage }) => ({ stage, optional: false, probability: 1 }));
}
