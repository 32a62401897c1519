/** A platform of several cells on virtual time: what it has, what comes, and what came of it. */
import type { Quantiles } from "../scaling/types.ts";

export interface SimulatedCell {
  readonly name: string;
  /** Cards, and so pods at once. */
  readonly cards: number;
  /** Per pod and second. */
  readonly price: number;
  /** Hours by which its day is behind that of the first. */
  readonly hoursBehind: number;
  /** Mean of its starts, ms. */
  readonly startMs: number;
  /** It is gone between these instants, ms. */
  readonly lost?: { readonly fromMs: number; readonly toMs: number };
}

export interface CellsScenario {
  readonly cells: readonly SimulatedCell[];
  /** Round trip between cells by index, ms. */
  readonly roundTripMs: (from: number, to: number) => number;
  readonly lengthMs: number;
  /** Requests in flight that enter at one cell, at the quietest and at the busiest hour. */
  readonly load: { readonly least: number; readonly most: number };
  readonly serviceMs: number;
  /** Idle pods stay so long. */
  readonly cooldownMs: number;
  readonly seed: number;
}

/** Nearest: the cell of entry and no other. Warm first: a warm slot anywhere, else the own cell. */
export const CELL_POLICIES = ["nearest only", "warm first", "ours"] as const;
export type CellPolicy = (typeof CELL_POLICIES)[number];

export interface CellsResult {
  readonly policy: CellPolicy;
  readonly requests: number;
  readonly waitMs: Quantiles;
  readonly cost: number;
  /** Share of requests that another cell served. */
  readonly spilled: number;
  /** Most pods that a cell had, by cell. */
  readonly mostPods: readonly number[];
}
