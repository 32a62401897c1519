/** What one simulation is given: workload, pool, arrivals, objectives, policy. Pure data. */
import type { QueueOrder } from "../../../common/contracts/routing.ts";
import type { CardProfile } from "../../../common/hexgen/cost.ts";
import { roundHalfUp } from "../../../common/hexgen/cost.ts";
import { drawArrivalsUs, drawFrom } from "../../../common/hexgen/draws.ts";
import { createRandom } from "../../../common/random.ts";
import type { TracedWorkflow, WorkflowClass } from "./workload.ts";

export interface PoolCard {
  readonly name: string;
  readonly profile: CardProfile;
  readonly kvTokens: number;
}

export type DispatchRule = "rr" | "wb" | "ect" | "repo";

export interface SimulatedPolicy {
  readonly dispatch: DispatchRule;
  readonly alpha: number;
  readonly order: QueueOrder;
}

export interface Arrivals {
  /** Per workflow, in file order, whole us, not falling. */
  readonly arrivalsUs: readonly number[];
  /** Objective per workflow as a multiple of the base objective. */
  readonly sloScales: readonly number[];
}

export interface Scenario extends Arrivals {
  readonly workflowClass: WorkflowClass;
  readonly workflows: readonly TracedWorkflow[];
  readonly pool: readonly PoolCard[];
  readonly policy: SimulatedPolicy;
  /** Cards keep shared prompt prefixes. */
  readonly prefixReuse: boolean;
}

/** Arrivals as recorded in the trace, sped up to a rate; one objective for all. */
export function recordedArrivals(
  workflows: readonly TracedWorkflow[],
  ratePerS: number,
  sloScale: number,
): Arrivals {
  return {
    arrivalsUs: workflows.map(({ arrivalUnits }) => roundHalfUp((1e6 * arrivalUnits) / ratePerS)),
    sloScales: workflows.map(() => sloScale),
  };
}

/** Arrivals of a seed: all gaps first, then one objective per workflow from the same stream. */
export function seededArrivals(
  seed: number,
  ratePerS: number,
  count: number,
  sloScales: readonly number[],
): Arrivals {
  const random = createRandom(seed);
  const arrivalsUs = drawArrivalsUs(random, ratePerS, count);
  return { arrivalsUs, sloScales: drawFrom(random, sloScales, count) };
}
