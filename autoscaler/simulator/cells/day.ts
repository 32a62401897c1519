/** A day of six cells around the world: fewer cards than the busiest hour needs, other prices. */
import type { CellsScenario, SimulatedCell } from "./types.ts";

const HOUR_MS = 3_600_000;

const CELLS: readonly SimulatedCell[] = [
  cell("eu-west", { cards: 15, price: 1.3, hoursBehind: 0, startMs: 70_000 }),
  cell("us-east", { cards: 20, price: 1, hoursBehind: 5, startMs: 60_000 }),
  cell("us-west", { cards: 15, price: 1.1, hoursBehind: 8, startMs: 60_000 }),
  cell("ap-south", { cards: 12, price: 1.2, hoursBehind: 19, startMs: 80_000 }),
  cell("ap-east", { cards: 12, price: 1.6, hoursBehind: 15, startMs: 75_000 }),
  cell("eu-north", { cards: 20, price: 0.9, hoursBehind: 0, startMs: 65_000 }),
];

/** Round trips between the six, ms, as public clouds have them. */
const ROUND_TRIPS: readonly (readonly number[])[] = [
  [0, 80, 140, 120, 220, 35],
  [80, 0, 60, 190, 170, 110],
  [140, 60, 0, 220, 110, 160],
  [120, 190, 220, 0, 80, 140],
  [220, 170, 110, 80, 0, 240],
  [35, 110, 160, 140, 240, 0],
];

function cell(name: string, rest: Omit<SimulatedCell, "name">): SimulatedCell {
  return { name, ...rest };
}

export function dayOfSixCells(change: Partial<CellsScenario> = {}): CellsScenario {
  return {
    cells: CELLS,
    roundTripMs: (from, to) => ROUND_TRIPS[from]?.[to] ?? 0,
    lengthMs: 24 * HOUR_MS,
    load: { least: 1, most: 16 },
    serviceMs: 30_000,
    cooldownMs: 120_000,
    seed: 11,
    ...change,
  };
}

/** The same day, but one cell is gone for three hours around its busiest. */
export function dayWithLoss(): CellsScenario {
  const lost = { fromMs: 11 * HOUR_MS, toMs: 14 * HOUR_MS };
  const cells = CELLS.map((one) => (one.name === "eu-west" ? { ...one, lost } : one));
  return dayOfSixCells({ cells });
}

/** Requests in flight that enter at a cell: least at night, most in its afternoon. */
export function loadAt(scenario: CellsScenario, index: number, atMs: number): number {
  const { least, most } = scenario.load;
  const behindMs = (scenario.cells[index]?.hoursBehind ?? 0) * HOUR_MS;
  const hour = (((atMs - behindMs) / HOUR_MS + 48) % 24) - 14;
  const share = (1 + Math.cos((hour / 24) * 2 * Math.PI)) / 2;
  return least + (most - least) * share ** 2;
}
