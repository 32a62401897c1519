/** What an experiment is: the same script on either system, and figures that are laid side by side. */
import type { System } from "../rig/system.ts";

/** Figures of one run on one system, by name. */
export type Figures = Readonly<Record<string, number>>;

export interface Outcome {
  readonly figures: Figures;
  /** What else was seen, for the report's notes. */
  readonly notes: readonly string[];
}

export interface Experiment {
  readonly name: string;
  run(system: System, options: ExperimentOptions): Promise<Outcome>;
}

export interface ExperimentOptions {
  /** Shorter loads. */
  readonly short: boolean;
  /** First requests to measure. */
  readonly coldStarts: number;
}
