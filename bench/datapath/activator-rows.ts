/** What the rounds of the activators say: ratios against the peers of the same round, and a table. */
import type { ReportBuilder } from "../../foundation/report.ts";
import {
  ACTIVATOR_CONNECTIONS,
  ACTIVATOR_PEERS,
  type ActivatorPeer,
  type ActivatorResult,
  type ActivatorRound,
  PROCESS_COUNTS,
} from "./activator.ts";
import { addRatio, type Bars, median, worst } from "./ratios.ts";

export function addActivatorRows(report: ReportBuilder, rounds: readonly ActivatorRound[]): void {
  const row = (id: string, peer: ActivatorPeer, bars: Bars, pick: Pick): void =>
    addRatio(report, {
      id: `datapath.activator.${id}`,
      peer: peer === "stock" ? "stock, containerConcurrency 10" : peer,
      bars,
      ratios: worst(ratios(rounds, peer, pick)),
    });
  row("cpu.over_stock", "stock", ["<= 0.70", "<= 0.45"], ({ cpuUs }) => cpuUs);
  row("cpu.over_nginx", "nginx", ["<= 4", "<= 2.5"], ({ cpuUs }) => cpuUs);
  row("p90.over_stock", "stock", ["<= 0.8", "<= 0.45"], ({ p90Us }) => p90Us);
  addRatio(report, {
    id: "datapath.activator.rps_per_core.over_stock",
    peer: "stock, containerConcurrency 10",
    bars: [">= 1.4", ">= 2.2"],
    ratios: worst(ratios(rounds, "stock", ({ cpuUs }) => cpuUs)).map((ratio) => 1 / ratio),
  });
  addRatio(report, {
    id: "datapath.activator.doubling",
    peer: "half as many processes",
    bars: [">= 1.8", ">= 1.95"],
    ratios: rounds.map(worstDoubling).filter(Number.isFinite),
  });
  addTable(report, rounds);
}

type Pick = (result: ActivatorResult) => number;

function ratios(
  rounds: readonly ActivatorRound[],
  peer: ActivatorPeer,
  pick: Pick,
): readonly (readonly number[])[] {
  return ACTIVATOR_CONNECTIONS.map((connections) =>
    rounds.flatMap(({ peers }) => {
      const [ours, theirs] = [at(peers, "ours", connections), at(peers, peer, connections)];
      return ours === undefined || theirs === undefined ? [] : [pick(ours) / pick(theirs)];
    }),
  );
}

function at(
  peers: ActivatorRound["peers"],
  name: ActivatorPeer,
  connections: number,
): ActivatorResult | undefined {
  return peers.get(name)?.find((result) => result.connections === connections);
}

/** Twice the processes carry twice the requests when a request costs no more on-CPU time. */
function worstDoubling({ processes }: ActivatorRound): number {
  const times = PROCESS_COUNTS.map((count) => processes.get(count) ?? Number.NaN);
  const gains = times.slice(1).map((time, i) => (2 * (times[i] ?? Number.NaN)) / time);
  return Math.min(...gains);
}

function addTable(report: ReportBuilder, rounds: readonly ActivatorRound[]): void {
  for (const name of ACTIVATOR_PEERS) {
    for (const connections of ACTIVATOR_CONNECTIONS) {
      const results = rounds.flatMap(({ peers }) => at(peers, name, connections) ?? []);
      if (results.length === 0) continue;
      const middle = (pick: Pick): number => Math.round(median(results.map(pick)));
      report.addToTable("activators", {
        activator: name,
        connections,
        cpuUs: middle(({ cpuUs }) => cpuUs),
        p50Us: middle(({ p50Us }) => p50Us),
        p90Us: middle(({ p90Us }) => p90Us),
        perSecond: middle(({ rps }) => rps),
        errors: results.reduce((sum, { errors }) => sum + errors, 0),
      });
    }
  }
  for (const count of PROCESS_COUNTS) {
    const times = rounds.flatMap(({ processes }) => processes.get(count) ?? []);
    if (times.length === 0) continue;
    report.addToTable("processes", { processes: count, cpuUs: Math.round(median(times)) });
  }
}
