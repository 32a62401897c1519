/**
 * The text-to-SQL class of the benchmark: expected stages, typical sizes and shared prompt
 * prefixes, and the pool of four unequal cards on which it is judged.
 */
import { meanServiceUs } from "../../../common/hexgen/cost.ts";
import { knownCard } from "../../../common/hexgen/known-cards.ts";
import { createTemplate, expectedTime } from "../../../common/hexgen/template.ts";
import { PlatformError } from "../../../common/errors.ts";
import type { PoolCard } from "./scenario.ts";
import type { StageFacts, WorkflowClass } from "./workload.ts";

const stage = (
  inputTokens: number,
  outputTokens: number,
  sharedPrefixTokens: number,
): StageFacts => ({ inputTokens, outputTokens, sharedPrefixTokens, isChained: false });

export const TEXT2SQL: WorkflowClass = {
  template: createTemplate(
    [
      "retrieve",
      "keywords",
      "retrieve",
      "retrieve",
      "retrieve",
      "candidate",
      "revise",
      "revise",
      "revise",
      "revise",
      "tester",
      "unit_test",
      "tester",
      "evaluate",
      "tester",
    ],
    ["keywords", "revise", "unit_test", "evaluate"],
  ),
  stages: {
    retrieve: stage(308, 5, 213),
    keywords: stage(667, 45, 630),
    candidate: stage(11_748, 678, 5_292),
    revise: { ...stage(5_963, 79, 3_059), isChained: true },
    tester: stage(275, 4, 213),
    unit_test: stage(1_109, 103, 436),
    evaluate: stage(961, 22, 261),
  },
};

/** A pool by card names, with the prior figures of each. */
export function createPool(names: readonly string[], batchSlope = 0): PoolCard[] {
  return names.map((name) => {
    const card = knownCard(name);
    if (card === undefined) {
      throw new PlatformError("ERR_CONFIG_INVALID", `no figures for card ${name}`);
    }
    return { name, profile: { ...card.profile, batchSlope }, kvTokens: card.kvTokens };
  });
}

export const BENCHMARK_POOL = ["A100", "A100", "A6000", "L40"] as const;

/** Sum of the expected stage times over the template, mean over the pool: the unit of objectives. */
export function baseSloUs(workflowClass: WorkflowClass, pool: readonly PoolCard[]): number {
  const profiles = pool.map((card) => card.profile);
  return expectedTime(workflowClass.template, (name) => {
    const facts = workflowClass.stages[name];
    return facts === undefined ? 0 : meanServiceUs(profiles, { ...facts, cachedTokens: 0 });
  });
}
