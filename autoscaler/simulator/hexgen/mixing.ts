/**
 * Traffic that is more than one trace: calls that belong to no workflow beside it, tenants of
 * unequal size, and the part of a result that one asks about.
 */
import { drawArrivalsUs } from "../../../common/hexgen/draws.ts";
import type { Random } from "../../../common/random.ts";
import type { Scenario } from "./scenario.ts";
import type { SimulationResult } from "./simulate.ts";
import type { CallTokens } from "./workload.ts";

export interface SingleCalls extends CallTokens {
  readonly stage: string;
  readonly ratePerS: number;
  readonly untilUs: number;
  readonly sloScale: number;
}

/**
 * Adds calls that are a workflow of one stage each. `isTraced` tells the workflows of the trace
 * from them, by position.
 */
export function withSingleCalls(
  scenario: Scenario,
  calls: SingleCalls,
  random: Random,
): { readonly scenario: Scenario; readonly isTraced: readonly boolean[] } {
  const { inputTokens, outputTokens, stage } = calls;
  const count = Math.ceil((calls.untilUs / 1e6) * calls.ratePerS);
  const traced = scenario.workflows.map((workflow, index) => ({
    workflow,
    arrivalUs: scenario.arrivalsUs[index] ?? 0,
    sloScale: scenario.sloScales[index] ?? 1,
    isTraced: true,
  }));
  const single = drawArrivalsUs(random, calls.ratePerS, count).map((arrivalUs) => ({
    workflow: {
      arrivalUnits: 0,
      stages: [{ stage, calls: [{ inputTokens, outputTokens }] }],
      template: [],
    },
    arrivalUs,
    sloScale: calls.sloScale,
    isTraced: false,
  }));
  const all = [...traced, ...single].toSorted((left, right) => left.arrivalUs - right.arrivalUs);
  const facts = { inputTokens, outputTokens, sharedPrefixTokens: 0, isChained: false };
  return {
    scenario: {
      ...scenario,
      workflowClass: {
        ...scenario.workflowClass,
        stages: { ...scenario.workflowClass.stages, [stage]: facts },
      },
      workflows: all.map(({ workflow }) => workflow),
      arrivalsUs: all.map(({ arrivalUs }) => arrivalUs),
      sloScales: all.map(({ sloScale }) => sloScale),
    },
    isTraced: all.map((each) => each.isTraced),
  };
}

/** Tenant of each workflow: the k-th of them has a share in proportion to 1 / k. */
export function drawTenants(random: Random, tenants: number, count: number): string[] {
  const shares = Array.from({ length: tenants }, (_, index) => 1 / (index + 1));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return Array.from({ length: count }, () => {
    let left = random() * total;
    const index = shares.findIndex((share) => (left -= share) < 0);
    return `tenant-${index < 0 ? tenants : index + 1}`;
  });
}

/** The workflows of a result that are asked about. */
export function select(
  result: SimulationResult,
  isWanted: (index: number) => boolean,
): SimulationResult {
  return {
    arrivalsUs: result.arrivalsUs.filter((_, index) => isWanted(index)),
    latenciesUs: result.latenciesUs.filter((_, index) => isWanted(index)),
    slosUs: result.slosUs.filter((_, index) => isWanted(index)),
    sloScales: result.sloScales.filter((_, index) => isWanted(index)),
  };
}
