/**
 * What the store weighs a call by: its work on each card, what `batch` weighs beside it, and the same
 * on pods that hold a beginning of its prompt. Pure.
 */
import type { DispatchRule } from "../../common/contracts/routing.ts";
import type { BatchWeights } from "../../common/hexgen/batch-estimate.ts";
import { batchEstimate, classSpeeds } from "../../common/hexgen/batch-estimate.ts";
import type { CallEstimate } from "../../common/hexgen/call-estimate.ts";
import { heldTokens, warmWorkUs } from "../../common/hexgen/call-estimate.ts";
import type { CallSize } from "../../common/hexgen/cost.ts";
import type { ClassKnowledge, RevisionKnowledge } from "../../common/hexgen/knowledge.ts";
import type { ModelBody } from "../../common/hexgen/model-body.ts";
import type { WarmPod } from "./prefix-memory.ts";
import { byLength } from "./warm-targets.ts";

/** As parts of the store's `CallDetails` and `WarmTargets`. */
export interface CallWork {
  readonly workUs: ReadonlyMap<string, number>;
  readonly weights?: ReadonlyMap<string, BatchWeights>;
}
export interface WarmWork extends CallWork {
  readonly targetUids: readonly string[];
}

export interface WeighedCall extends CallWork {
  readonly warm: readonly WarmWork[];
}

export interface WeighedFacts {
  readonly rule: DispatchRule;
  readonly body: ModelBody;
  readonly estimate: CallEstimate;
  readonly revision: RevisionKnowledge;
  readonly known: ClassKnowledge | undefined;
  readonly warm: readonly WarmPod[];
}

export function weighCall(facts: WeighedFacts): WeighedCall {
  const { rule, body, estimate, revision } = facts;
  const cold = (workUs: CallWork["workUs"]): CallWork => ({ workUs });
  const weigh = rule === "batch" && estimate.promptTokens >= 0 ? batchWeigher(facts) : cold;
  // The published rule knows nothing of what a pod holds.
  const warm = rule === "repo" ? [] : [...byLength(facts.warm)];
  return {
    ...weigh(estimate.workUs, 0),
    warm: warm.map(([characters, targetUids]) => ({
      targetUids,
      ...weigh(warmWorkUs(body, estimate, revision, characters), characters),
    })),
  };
}

type Weigher = (workUs: CallWork["workUs"], characters: number) => CallWork;

function batchWeigher({ body, estimate, revision, known }: WeighedFacts): Weigher {
  const { promptTokens: inputTokens, outputTokens, workUs } = estimate;
  const size = (cachedTokens: number): CallSize => ({ inputTokens, outputTokens, cachedTokens });
  const speeds = classSpeeds(workUs.keys(), revision, known, size(0));
  return (_, characters) => {
    const cachedTokens = heldTokens(body, estimate, revision, characters);
    return batchEstimate({ size: size(cachedTokens), revision, speeds });
  };
}
