/** What an activator shows of the other cells: metrics, and a page for the dashboard and people. */
import { explainChoice } from "../../cells/core/choose-cell.ts";
import type { CellsPage } from "../../common/contracts/cells-page.ts";
import type { ActivatorCells } from "../cells.ts";
import type { CellRoutes } from "../routes/admin.ts";

/** Of the log: more than a screen holds. */
const MOST_CHOICES = 50;

export function viewCells({ node, desk }: ActivatorCells): CellsPage {
  const { directory, snapshot, own } = node;
  const health = new Map(snapshot.health(performance.now()).map((one) => [one.cell, one]));
  const services = [...own.all()];
  return {
    own: directory.own,
    faults: directory.faults,
    cells: directory.all().map(({ name, region }) => {
      if (name === directory.own) {
        return { name, region, isHere: true, isFresh: true, ageMs: 0, roundTripMs: 0, services };
      }
      const known = health.get(name);
      return {
        name,
        region,
        isHere: false,
        isFresh: known?.isFresh ?? false,
        ageMs: known === undefined || !Number.isFinite(known.ageMs) ? null : known.ageMs,
        roundTripMs: known?.roundTripMs ?? null,
        services: snapshot.digestsOf(name),
      };
    }),
    choices: desk.log.latest(MOST_CHOICES).map(({ at, service, choice }) => ({
      at,
      service,
      cell: choice.cell,
      expects: choice.expects,
      words: explainChoice(choice),
      verdicts: choice.verdicts,
    })),
    spills: desk.counters.all(),
  };
}

export function cellRoutesOf(cells: ActivatorCells): CellRoutes {
  return { view: () => viewCells(cells), forget: (cell) => cells.node.forget(cell) };
}

export function renderCells({ node, desk }: ActivatorCells): string {
  const health = node.snapshot.health(performance.now());
  const lines = [
    ...head("pilotlight_cell_fresh", "gauge", "1 while a cell is heard of and may be chosen."),
    ...health.map(
      ({ cell, isFresh }) => `pilotlight_cell_fresh{cell="${cell}"} ${isFresh ? 1 : 0}`,
    ),
    ...head(
      "pilotlight_cell_round_trip_seconds",
      "gauge",
      "Round trip to a cell, measured and smoothed.",
    ),
    ...health.flatMap(({ cell, roundTripMs }) =>
      roundTripMs === null
        ? []
        : [`pilotlight_cell_round_trip_seconds{cell="${cell}"} ${roundTripMs / 1_000}`],
    ),
    ...head("pilotlight_cell_digests", "gauge", "Services of which a cell's digest is known."),
    ...health.map(({ cell, services }) => `pilotlight_cell_digests{cell="${cell}"} ${services}`),
    ...head(
      "pilotlight_cell_spills_total",
      "counter",
      "Requests sent to a cell, by what was expected there and what became of them.",
    ),
    ...desk.counters
      .all()
      .map(
        ({ cell, spill, outcome, count }) =>
          `pilotlight_cell_spills_total{cell="${cell}",expects="${spill}",outcome="${outcome}"} ${count}`,
      ),
    ...head(
      "pilotlight_cell_peers_refused_total",
      "counter",
      "Connections to the peer port that proved no name of a known cell.",
    ),
    `pilotlight_cell_peers_refused_total ${node.port.refused}`,
  ];
  return `${lines.join("\n")}\n`;
}

function head(name: string, type: "gauge" | "counter", help: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}
