/**
 * The alpha tuner: replays the recent past for each candidate alpha and picks the one with the
 * smallest predicted tail of latency over objective, if it gains enough. Answer lengths are drawn
 * anew from what each stage wrote, with the same draws for every alpha.
 */
import {
  ALPHA_GRID,
  ALPHA_HYSTERESIS,
  bestAlpha,
  chooseAlpha,
  refinedAlphas,
} from "../../../common/hexgen/alpha.ts";
import type { AlphaPrediction } from "../../../common/hexgen/alpha.ts";
import type { Random } from "../../../common/random.ts";
import { createRandom } from "../../../common/random.ts";
import type { PoolCard, Scenario, SimulatedPolicy } from "./scenario.ts";
import { simulate } from "./simulate.ts";
import { summarize } from "./summary.ts";
import type { TracedWorkflow, WorkflowClass } from "./workload.ts";

/** One workflow of the call log. */
export interface RecordedWorkflow extends TracedWorkflow {
  readonly arrivedAtUs: number;
  /** As a multiple of the base objective of the pool. */
  readonly sloScale: number;
}

export interface TuningInput {
  readonly workflowClass: WorkflowClass;
  /** By arrival. */
  readonly recorded: readonly RecordedWorkflow[];
  readonly pool: readonly PoolCard[];
  readonly policy: Omit<SimulatedPolicy, "alpha">;
  readonly prefixReuse: Scenario["prefixReuse"];
  readonly currentAlpha: number;
}

export interface TuningResult {
  /** To apply; the current one when no other gains enough. */
  readonly alpha: number;
  /** 95th percentile of latency over objective that it is predicted to give. */
  readonly predictedTail: number;
  readonly predictions: readonly AlphaPrediction[];
}

const SEEDS = [1, 2, 3, 4, 5] as const;
/** A window with fewer workflows is resampled to this many. */
const SMALLEST_WINDOW = 50;

export function tuneAlpha(input: TuningInput): TuningResult {
  const { currentAlpha } = input;
  const futures = SEEDS.map((seed) => drawFuture(input, createRandom(seed)));
  const predict = (alpha: number): AlphaPrediction => ({
    alpha,
    tail: meanTail(futures, { ...input.policy, alpha }),
  });
  const grid = ALPHA_GRID.includes(currentAlpha) ? ALPHA_GRID : [...ALPHA_GRID, currentAlpha];
  const coarse = grid.map(predict);
  const bestOfGrid = bestAlpha(coarse, currentAlpha)?.alpha ?? currentAlpha;
  const untried = refinedAlphas(bestOfGrid).filter((alpha) => !grid.includes(alpha));
  const predictions = [...coarse, ...untried.map(predict)];
  const alpha = chooseAlpha(predictions, currentAlpha, ALPHA_HYSTERESIS);
  const predictedTail = predictions.find((each) => each.alpha === alpha)?.tail ?? Number.NaN;
  return { alpha, predictedTail, predictions };
}

type Future = Omit<Scenario, "policy">;

function meanTail(futures: readonly Future[], policy: SimulatedPolicy): number {
  let sum = 0;
  for (const future of futures) sum += summarize(simulate({ ...future, policy })).p95OverSlo;
  return sum / futures.length;
}

function drawFuture(input: TuningInput, random: Random): Future {
  const window = resample(input.recorded, random);
  const lengths = outputLengths(input.recorded);
  return {
    workflowClass: input.workflowClass,
    pool: input.pool,
    prefixReuse: input.prefixReuse,
    arrivalsUs: window.map(({ arrivedAtUs }) => arrivedAtUs),
    sloScales: window.map(({ sloScale }) => sloScale),
    workflows: window.map((workflow) => redraw(workflow, lengths, random)),
  };
}

/** The window itself, or one of the smallest size drawn from it, at the same rate of arrivals. */
function resample(recorded: readonly RecordedWorkflow[], random: Random): RecordedWorkflow[] {
  const first = recorded[0];
  const last = recorded.at(-1);
  if (first === undefined || last === undefined) throw new RangeError("the window is empty");
  if (recorded.length >= SMALLEST_WINDOW) return [...recorded];
  const spanUs = (last.arrivedAtUs - first.arrivedAtUs) / Math.max(recorded.length - 1, 1);
  return Array.from({ length: SMALLEST_WINDOW }, (_, index) => ({
    ...pick(recorded, random, first),
    arrivedAtUs: Math.round(first.arrivedAtUs + index * spanUs),
  }));
}

function outputLengths(recorded: readonly RecordedWorkflow[]): Map<string, number[]> {
  const lengths = new Map<string, number[]>();
  for (const { stages } of recorded) {
    for (const { stage, calls } of stages) {
      const seen = lengths.get(stage) ?? [];
      lengths.set(stage, seen);
      for (const { outputTokens } of calls) seen.push(outputTokens);
    }
  }
  return lengths;
}

function redraw(
  workflow: RecordedWorkflow,
  lengths: ReadonlyMap<string, readonly number[]>,
  random: Random,
): TracedWorkflow {
  const stages = workflow.stages.map(({ stage, calls }) => ({
    stage,
    calls: calls.map((call) => ({
      inputTokens: call.inputTokens,
      outputTokens: pick(lengths.get(stage) ?? [], random, call.outputTokens),
    })),
  }));
  return { arrivalUnits: workflow.arrivalUnits, stages };
}

function pick<T>(from: readonly T[], random: Random, otherwise: T): T {
  return from[Math.floor(random() * from.length)] ?? otherwise;
}
