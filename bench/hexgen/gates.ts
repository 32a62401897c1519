/**
 * Gates G1 to G7: the platform's one configuration against round robin and against the paper's
 * policy, on each trace, paired by seed. A gate passes when the mean of every part passes.
 */
import type { Summary } from "../../autoscaler/simulator/hexgen/summary.ts";
import { meets } from "../../foundation/report.ts";
import type { SimulatedPolicy } from "../../autoscaler/simulator/hexgen/scenario.ts";
import type { Paired, Setting, TraceName } from "./runs.ts";
import {
  ALL_TRACES,
  GATE_SEEDS,
  intervalOf,
  JUDGED_TRACES,
  paired,
  PAPER,
  PLATFORM,
  ROUND_ROBIN,
  runSeeds,
} from "./runs.ts";

const SINGLE: Setting = { ratePerS: 0.5, sloScales: [15] };
const REUSED: Setting = { ...SINGLE, reuse: "unbounded" };
const MIXED: Setting = { ratePerS: 0.5, sloScales: [4, 8, 16] };
const MIXED_REUSED: Setting = { ...MIXED, reuse: "unbounded", batchSlope: 0.02 };
const MODERATE: Setting = { ratePerS: 0.1, sloScales: [15] };
const LIGHT: Setting = { ratePerS: 0.02, sloScales: [15] };
const withBaseSlo = (setting: Setting): Setting => ({ ...setting, sloScales: [1] });

export interface GatePart {
  readonly gate: string;
  readonly part: string;
  readonly must: string;
  readonly goal?: string;
  readonly measure: (trace: TraceName, platform: SimulatedPolicy) => Paired;
}

const p95 = (summary: Summary): number => summary.p95S;
const p50 = (summary: Summary): number => summary.p50S;
const run = (trace: TraceName, policy: SimulatedPolicy, setting: Setting): readonly Summary[] =>
  runSeeds(trace, policy, setting, GATE_SEEDS);

/** Against the paper's policy with the platform's objective and with the base one: the larger. */
function overPaper(
  trace: TraceName,
  platform: readonly Summary[],
  setting: Setting,
  figure: (summary: Summary) => number,
): Paired {
  const ratios = [setting, withBaseSlo(setting)].map((baseline) =>
    paired(platform, run(trace, PAPER, baseline), (own, peer) => figure(own) / figure(peer)),
  );
  return ratios.reduce((worst, ratio) => (ratio.mean > worst.mean ? ratio : worst));
}

const overBaseline = (
  trace: TraceName,
  policy: SimulatedPolicy,
  setting: Setting,
  compare: (own: Summary, peer: Summary) => number,
): Paired => paired(run(trace, policy, setting), run(trace, ROUND_ROBIN, setting), compare);

const lowerTail = (own: Summary, peer: Summary): number => peer.p95S / own.p95S;
const moreThroughput = (own: Summary, peer: Summary): number =>
  own.throughputPerS / peer.throughputPerS;

export const GATE_PARTS: readonly GatePart[] = [
  {
    gate: "G1",
    part: "paper's policy: P95 lower than round robin by",
    must: ">= 1.62",
    measure: (trace) => overBaseline(trace, PAPER, withBaseSlo(SINGLE), lowerTail),
  },
  {
    gate: "G1",
    part: "paper's policy: throughput over round robin",
    must: ">= 1.50",
    measure: (trace) => overBaseline(trace, PAPER, withBaseSlo(SINGLE), moreThroughput),
  },
  {
    gate: "G2",
    part: "P95 lower than round robin by",
    must: ">= 1.56",
    goal: ">= 1.90",
    measure: (trace, platform) => overBaseline(trace, platform, SINGLE, lowerTail),
  },
  {
    gate: "G2",
    part: "throughput over round robin",
    must: ">= 1.49",
    goal: ">= 1.81",
    measure: (trace, platform) => overBaseline(trace, platform, SINGLE, moreThroughput),
  },
  {
    gate: "G3",
    part: "P95 over the paper's policy, reuse off",
    must: "<= 1.00",
    goal: "<= 0.92",
    measure: (trace, platform) => overPaper(trace, run(trace, platform, SINGLE), SINGLE, p95),
  },
  {
    gate: "G3",
    part: "P50 over the paper's policy, reuse off",
    must: "<= 0.88",
    goal: "<= 0.75",
    measure: (trace, platform) => overPaper(trace, run(trace, platform, SINGLE), SINGLE, p50),
  },
  {
    gate: "G3",
    part: "P95 over the paper's policy, reuse on",
    must: "<= 0.99",
    goal: "<= 0.88",
    measure: (trace, platform) => overPaper(trace, run(trace, platform, REUSED), REUSED, p95),
  },
  {
    gate: "G4",
    part: "attainment beyond the paper's policy, mixed objectives, reuse off",
    must: ">= 0.17",
    goal: ">= 0.30",
    measure: (trace, platform) =>
      paired(
        run(trace, platform, MIXED),
        run(trace, PAPER, MIXED),
        (own, peer) => own.attainment - peer.attainment,
      ),
  },
  {
    gate: "G4",
    part: "attainment, mixed objectives, reuse on, batch slope 0.02",
    must: ">= 0.92",
    goal: ">= 0.97",
    measure: (trace, platform) =>
      intervalOf(run(trace, platform, MIXED_REUSED).map(({ attainment }) => attainment)),
  },
  {
    gate: "G5",
    part: "P95 over the paper's policy at 0.1/s",
    must: "<= 1.03",
    goal: "<= 0.93",
    measure: (trace, platform) => overPaper(trace, run(trace, platform, MODERATE), MODERATE, p95),
  },
  {
    gate: "G5",
    part: "P95 over the paper's policy at 0.02/s",
    must: "<= 1.01",
    goal: "<= 0.95",
    measure: (trace, platform) => overPaper(trace, run(trace, platform, LIGHT), LIGHT, p95),
  },
  {
    gate: "G6",
    part: "P95 with reuse over the paper's policy without",
    must: "<= 0.55",
    goal: "<= 0.44",
    measure: (trace, platform) => overPaper(trace, run(trace, platform, REUSED), SINGLE, p95),
  },
];

export interface GateFigure {
  readonly gate: string;
  readonly part: string;
  readonly trace: TraceName;
  readonly mean: number;
  readonly interval: number;
  readonly seeds: number;
  readonly must: string;
  readonly goal: string;
  readonly verdict: "goal" | "must" | "short" | "reported";
}

/** Every part on every trace; the natural trace is reported, not judged. */
export function gateFigures(platform: SimulatedPolicy = PLATFORM): GateFigure[] {
  return GATE_PARTS.flatMap((part) =>
    ALL_TRACES.map((trace) => {
      const { mean, interval } = part.measure(trace, platform);
      const { gate, must, goal = "" } = part;
      const verdict = verdictOf(part, trace, mean);
      return {
        gate,
        part: part.part,
        trace,
        mean,
        interval,
        seeds: GATE_SEEDS,
        must,
        goal,
        verdict,
      };
    }),
  );
}

function verdictOf(part: GatePart, trace: TraceName, mean: number): GateFigure["verdict"] {
  if (!JUDGED_TRACES.some((judged) => judged === trace)) return "reported";
  if (!meets(mean, part.must)) return "short";
  return part.goal === undefined || meets(mean, part.goal) ? "goal" : "must";
}

/** 1 when no judged part of the gate is short. */
export function gatePasses(figures: readonly GateFigure[], gate: string): 0 | 1 {
  const parts = figures.filter((figure) => figure.gate === gate);
  return parts.length > 0 && parts.every(({ verdict }) => verdict !== "short") ? 1 : 0;
}
