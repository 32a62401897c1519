/** The experiments that run on both systems, in order. */
import { coldStart } from "./measure/cold-start.ts";
import { crashedPods } from "./measure/crashed-pods.ts";
import type { Experiment } from "./measure/measure.ts";
import { nodeCut } from "./measure/node-cut.ts";
import { rollout } from "./measure/rollout.ts";
import { twoActivators } from "./measure/two-activators.ts";

export const EXPERIMENTS: readonly Experiment[] = [
  coldStart,
  rollout,
  twoActivators,
  crashedPods,
  nodeCut,
];
