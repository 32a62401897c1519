/** What the rounds say: ratios against the peers of the same round, and tables of the figures. */
import type { ReportBuilder } from "../../foundation/report.ts";
import type { ActivatorRound } from "./activator.ts";
import { addActivatorRows } from "./activator-rows.ts";
import { addRatio, type Bars, median, worst } from "./ratios.ts";
import type { PeerName } from "./peers.ts";
import type { SmallResult, StartTime, Turn } from "./turns.ts";

/** The turns of one round by peer; a peer that could not be started is not there. */
export interface Round {
  readonly turns: ReadonlyMap<PeerName, Turn>;
  readonly direct: readonly SmallResult[];
}

export interface Measurements {
  readonly rounds: readonly Round[];
  readonly starts: ReadonlyMap<PeerName, readonly StartTime[]>;
  readonly held: ReadonlyMap<PeerName, readonly number[]>;
  readonly activators: readonly ActivatorRound[];
}

const OURS: PeerName = "raw";
/** Connections at which the bars hold; the worse of them decides. */
const JUDGED = [16, 64] as const;

export function addRows(report: ReportBuilder, found: Measurements): void {
  const { rounds } = found;
  const small = (pick: (result: SmallResult) => number, peer: PeerName, bars: Bars, id: string) => {
    const spreads = JUDGED.map((connections) =>
      ratios(rounds, peer, (turn) => pick(at(turn.small, connections))),
    );
    addRatio(report, { id, peer, bars, ratios: worst(spreads) });
  };
  const whole = (pick: (turn: Turn) => number, bars: Bars, id: string) =>
    addRatio(report, { id, peer: "stock", bars, ratios: ratios(rounds, "stock", pick) });

  small(({ cpuUs }) => cpuUs, "stock", ["<= 0.55", "<= 0.30"], "datapath.qp.cpu.over_stock");
  small(({ cpuUs }) => cpuUs, "nginx", ["<= 2.5", "<= 1.6"], "datapath.qp.cpu.over_nginx");
  small(({ p50Us }) => p50Us, "stock", ["<= 0.6", "<= 0.35"], "datapath.qp.p50.over_stock");
  small(({ p99Us }) => p99Us, "stock", ["<= 0.6", "<= 0.35"], "datapath.qp.p99.over_stock");
  whole((turn) => turn.downUs, ["<= 1.0", "<= 0.8"], "datapath.qp.download.over_stock");
  whole((turn) => turn.upUs, ["<= 2", "<= 1.7"], "datapath.qp.upload.over_stock");
  whole((turn) => turn.events.p50Us, ["<= 1.2", "<= 1.1"], "datapath.qp.sse.p50.over_stock");
  whole((turn) => turn.events.cpuUs, ["<= 1.0", "<= 0.8"], "datapath.qp.sse.cpu.over_stock");
  whole((turn) => turn.rssKib, ["<= 2.3", "<= 1.9"], "datapath.qp.rss.over_stock");
  addHeld(report, found);
  addStart(report, found);
  addActivatorRows(report, found.activators);
}

export function addTables(report: ReportBuilder, found: Measurements): void {
  for (const { name, turns } of byPeer(found)) {
    const direct = found.rounds.map((round) => round.direct);
    for (const { connections } of turns[0]?.small ?? []) {
      const results = turns.map((turn) => at(turn.small, connections));
      const floor = direct.map((list) => at(list, connections));
      report.addToTable("requests", {
        proxy: name,
        connections,
        cpuUs: round(median(results.map(({ cpuUs }) => cpuUs)), 1),
        perSecondAndCore: Math.round(1e6 / median(results.map(({ cpuUs }) => cpuUs))),
        addedP50Us: Math.round(
          median(results.map(({ p50Us }, i) => p50Us - (floor[i]?.p50Us ?? 0))),
        ),
        addedP99Us: Math.round(
          median(results.map(({ p99Us }, i) => p99Us - (floor[i]?.p99Us ?? 0))),
        ),
        errors: results.reduce((sum, { errors }) => sum + errors, 0),
      });
    }
    report.addToTable("other", {
      proxy: name,
      downUsPerMib: Math.round(median(turns.map(({ downUs }) => downUs))),
      upUsPerMib: Math.round(median(turns.map(({ upUs }) => upUs))),
      downMibPerSecond: Math.round(median(turns.map((turn) => turn.downMibPerSecond))),
      eventUs: round(median(turns.map(({ events }) => events.cpuUs)), 1),
      eventP50Us: Math.round(median(turns.map(({ events }) => events.p50Us))),
      eventsPerSecond: Math.round(median(turns.map(({ events }) => events.perSecond))),
      rssMib: round(median(turns.map(({ rssKib }) => rssKib)) / 1_024, 1),
      heldBytes: rounded(median(found.held.get(name) ?? [])),
      startMs: rounded(median((found.starts.get(name) ?? []).map(({ wallMs }) => wallMs))),
      startCpuMs: rounded(median((found.starts.get(name) ?? []).map(({ cpuMs }) => cpuMs))),
    });
  }
}

/** On-CPU time per request by connections, for the plot. */
export function cpuSeries(
  found: Measurements,
): readonly { readonly name: PeerName; readonly points: readonly (readonly [number, number])[] }[] {
  return byPeer(found).map(({ name, turns }) => ({
    name,
    points: (turns[0]?.small ?? []).map(
      ({ connections }) =>
        [connections, median(turns.map((turn) => at(turn.small, connections).cpuUs))] as const,
    ),
  }));
}

function byPeer({ rounds }: Measurements): readonly { name: PeerName; turns: Turn[] }[] {
  const names = [...new Set(rounds.flatMap(({ turns }) => [...turns.keys()]))];
  return names.map((name) => ({
    name,
    turns: rounds.flatMap(({ turns }) => turns.get(name) ?? []),
  }));
}

function ratios(
  rounds: readonly Round[],
  peer: PeerName,
  pick: (turn: Turn) => number,
): readonly number[] {
  return rounds.flatMap(({ turns }) => {
    const [ours, theirs] = [turns.get(OURS), turns.get(peer)];
    return ours === undefined || theirs === undefined ? [] : [pick(ours) / pick(theirs)];
  });
}

function addHeld(report: ReportBuilder, { held }: Measurements): void {
  const [ours, stock] = [held.get(OURS) ?? [], held.get("stock") ?? []];
  const values = ours.flatMap((bytes, i) => (stock[i] === undefined ? [] : [bytes / stock[i]]));
  const bars: Bars = ["<= 0.7", "<= 0.4"];
  addRatio(report, {
    id: "datapath.waiting.bytes.over_stock",
    peer: "stock",
    bars,
    ratios: values,
  });
}

function addStart(report: ReportBuilder, { starts }: Measurements): void {
  const [ours, stock] = [starts.get(OURS) ?? [], starts.get("stock") ?? []];
  const limits = { must: "<= 150", goal: "<= 60" };
  const walls = ours.map(({ wallMs }) => wallMs);
  const peerValue = median(stock.map(({ wallMs }) => wallMs));
  report.row({
    id: "datapath.qp.start",
    value: median(walls),
    unit: "ms",
    n: ours.length,
    ...(Number.isFinite(peerValue) ? { peer: "stock", peerValue } : {}),
    ...limits,
  });
}

function at(results: readonly SmallResult[], connections: number): SmallResult {
  const found = results.find((result) => result.connections === connections);
  if (found === undefined)
    throw new RangeError(`Nothing was measured at ${connections} connections`);
  return found;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function rounded(value: number): number | null {
  return Number.isFinite(value) ? Math.round(value) : null;
}
