/** The figures of the experiments as the rows of the report, each beside stock's. */
import type { ReportBuilder, RowInput } from "../../foundation/report.ts";
import type { Outcome } from "./measure/measure.ts";
import type { System } from "./rig/system.ts";

type Outcomes = Readonly<Record<System, ReadonlyMap<string, Outcome>>>;

interface RowPlan {
  readonly id: string;
  readonly experiment: string;
  readonly figure: string;
  readonly unit: string;
  readonly must: string;
  readonly goal: string;
  /** Whether ours divided by stock's is held against the limit, instead of ours alone. */
  readonly ratio?: boolean;
  /** Figure with the number of samples. */
  readonly count?: string;
  /** Counts of what must never happen hold on any machine; all else hangs on its speed. */
  readonly holdsAnywhere?: boolean;
}

export interface Judging {
  /** False on a machine that others share: there such figures are reported without a bar. */
  readonly judgesSpeed: boolean;
}

const ROWS: readonly RowPlan[] = [
  {
    id: "cluster.coldstart.p50.over_stock",
    experiment: "cold start",
    figure: "p50Ms",
    unit: "ms",
    must: "<= 0.85",
    goal: "<= 0.70",
    ratio: true,
    count: "samples",
  },
  {
    id: "cluster.coldstart.p95.over_stock",
    experiment: "cold start",
    figure: "p95Ms",
    unit: "ms",
    must: "<= 0.85",
    goal: "<= 0.70",
    ratio: true,
    count: "samples",
  },
  {
    id: "cluster.ready_to_dispatch.p50.over_stock",
    experiment: "cold start",
    figure: "readyToDispatchMs",
    unit: "ms",
    must: "<= 0.4",
    goal: "<= 0.2",
    ratio: true,
    count: "samples",
  },
  {
    id: "cluster.pods_for_one_request",
    holdsAnywhere: true,
    experiment: "cold start",
    figure: "pods",
    unit: "pods",
    must: "1",
    goal: "1",
    count: "samples",
  },
  {
    id: "cluster.crashed.failed_undelivered",
    holdsAnywhere: true,
    experiment: "crashed pods",
    figure: "undelivered",
    unit: "count",
    must: "0",
    goal: "0",
    count: "sent",
  },
  {
    id: "cluster.node_cut.failed_undelivered",
    holdsAnywhere: true,
    experiment: "node cut off",
    figure: "undelivered",
    unit: "count",
    must: "0",
    goal: "0",
    count: "sent",
  },
  {
    id: "cluster.node_cut.slow",
    experiment: "node cut off",
    figure: "slow",
    unit: "count",
    must: "<= stock / 10",
    goal: "0",
    count: "sent",
  },
  {
    id: "cluster.two_activators.waited_beside_idle",
    experiment: "two activators",
    figure: "waitedShare",
    unit: "share",
    must: "<= 0.005",
    goal: "0",
    count: "requests",
  },
  {
    id: "cluster.rollout.errors",
    holdsAnywhere: true,
    experiment: "rollout",
    figure: "errors",
    unit: "count",
    must: "0",
    goal: "0",
    count: "sent",
  },
];

export function addRows(report: ReportBuilder, outcomes: Outcomes, judging: Judging): void {
  for (const plan of ROWS) {
    const row = rowOf(plan, outcomes);
    const { must: _must, goal: _goal, ...figures } = row;
    report.row(judging.judgesSpeed || plan.holdsAnywhere === true ? row : figures);
  }
}

function rowOf(plan: RowPlan, outcomes: Outcomes): RowInput {
  const figures = outcomes.pilotlight.get(plan.experiment)?.figures ?? {};
  const stock = outcomes.stock.get(plan.experiment)?.figures[plan.figure];
  const value = figures[plan.figure];
  const must = plan.must === "<= stock / 10" ? `<= ${(stock ?? 0) / 10}` : plan.must;
  const bars = { id: plan.id, unit: plan.unit, must, goal: plan.goal };
  if (value === undefined) return { ...bars, ...unknown(plan, "Pilotlight") };
  if (plan.ratio === true && stock === undefined) return { ...bars, ...unknown(plan, "stock") };
  const peer = "stock Knative 1.23 in the same rig";
  const row = { ...bars, value: round(value), peer, ...besideStock(plan, value, stock) };
  return { ...row, ...samplesOf(plan, figures) };
}

function samplesOf({ count = "" }: RowPlan, figures: Outcome["figures"]): { n?: number } {
  const n = figures[count];
  return n === undefined ? {} : { n };
}

const unknown = ({ experiment }: RowPlan, system: string): { value: null; why: string } => ({
  value: null,
  why: `"${experiment}" did not run on ${system}`,
});

function besideStock(plan: RowPlan, value: number, stock: number | undefined): Partial<RowInput> {
  if (stock === undefined) return {};
  const peerValue = round(stock);
  return plan.ratio === true ? { peerValue, ratio: round(value / stock) } : { peerValue };
}

const round = (value: number): number => Math.round(value * 1000) / 1000;
