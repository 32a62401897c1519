/** What one simulation is given: workload, pool, arrivals, objectives, policy. Pure data. */
import type { QueueOrder } from "../../../common/contracts/routing.ts";
import type { CardProfile } from "../../../common/hexgen/cost.ts";
import { roundHalfUp } from "../../../common/hexgen/cost.ts";
import { drawArrivalsUs, drawFrom, drawGamma } from "../../../common/hexgen/draws.ts";
import { createRandom } from "../../../common/random.ts";
import type { RealismOptions } from "./realism.ts";
import type { TracedWorkflow, WorkflowClass } from "./workload.ts";

export interface PoolCard {
  readonly name: string;
  readonly profile: CardProfile;
  readonly kvTokens: number;
}

/** `rr` in turn, `batch` for engines that batch; the others are rules of `common/hexgen/dispatch.ts`. */
export type DispatchRule = "rr" | "wb" | "ect" | "repo" | "batch";

export interface SimulatedPolicy {
  readonly dispatch: DispatchRule;
  readonly alpha: number;
  readonly order: QueueOrder;
  /** Whether a head that does not fit blocks the others. Default: it does. */
  readonly admission?: "blocking" | "backfill";
  /**
   * Variants of the rules, for comparison only. `shared-template`: one list of expected stages for
   * all workflows, as the published code has it. `fixed-class`: class of `urgency` fixed at
   * dispatch, lost calls by laxity too, no reserved share. `platform-budgets`: template and debt as
   * the platform has them under `pq` too, where the paper's own are the default here. `prefix-blind`:
   * cards keep prefixes and dispatch does not know. `stealing`: see `stealing.ts`.
   */
  readonly variant?:
    | "shared-template"
    | "fixed-class"
    | "platform-budgets"
    | "prefix-blind"
    | "stealing";
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
  /** Tenant per workflow; absent: one tenant. */
  readonly tenants?: readonly string[];
  /** Cards keep prompt prefixes: not at all, for ever, or in the cache that calls leave. */
  readonly prefixReuse: "off" | "unbounded" | "evicting";
  /** What the reference model leaves out; absent: nothing of it. */
  readonly realism?: RealismOptions;
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

/** Arrivals in bursts: Gamma gaps of that coefficient of variation (1 is Poisson). */
export function burstyArrivalsUs(
  seed: number,
  ratePerS: number,
  count: number,
  variation: number,
): number[] {
  const random = createRandom(seed);
  const shape = 1 / variation ** 2;
  let seconds = 0;
  return Array.from({ length: count }, () => {
    seconds += drawGamma(random, shape, 1 / (ratePerS * shape));
    return roundHalfUp(1e6 * seconds);
  });
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
