/**
 * A day of several cells on virtual time, event by event: arrivals by the clock of each cell, one
 * request per pod, pods that start when requests wait and leave after their cooldown, digests that
 * are a second old. The choice among cells is the text that the activators run.
 */
import { createRandom } from "../../../common/random.ts";
import type { Random } from "../../../common/random.ts";
import { EventQueue } from "../scaling/event-queue.ts";
import { quantiles } from "../scaling/quantiles.ts";
import { CellState } from "./cell-state.ts";
import type { CellFigures, WaitingRequest } from "./cell-state.ts";
import { place } from "./choose.ts";
import { loadAt } from "./day.ts";
import type { CellPolicy, CellsResult, CellsScenario } from "./types.ts";

type Event =
  | {
      readonly kind: "arrival" | "done" | "started" | "idle";
      readonly cell: number;
      readonly life: number;
    }
  | { readonly kind: "digests" };

const DIGEST_MS = 1_000;
/** Starts vary by this share around their mean. */
const START_SPREAD = 0.3;

export function simulateCells(policy: CellPolicy, scenario: CellsScenario): CellsResult {
  return new Simulation(policy, scenario).run();
}

class Simulation {
  readonly #policy: CellPolicy;
  readonly #scenario: CellsScenario;
  readonly #cells: readonly CellState[];
  readonly #events = new EventQueue<Event>();
  readonly #random: Random;
  readonly #waits: number[] = [];
  readonly #sent = new Map<number, number>();
  /** Grows when a cell is lost: what it had planned is void. */
  readonly #lives: number[];
  #digests: readonly CellFigures[];
  #spilled = 0;
  #now = 0;

  constructor(policy: CellPolicy, scenario: CellsScenario) {
    this.#policy = policy;
    this.#scenario = scenario;
    this.#cells = scenario.cells.map((spec) => new CellState(spec));
    this.#digests = this.#cells.map((cell) => cell.figures);
    this.#lives = scenario.cells.map(() => 0);
    this.#random = createRandom(scenario.seed);
  }

  run(): CellsResult {
    for (const index of this.#cells.keys()) this.#planArrival(index);
    this.#events.add(DIGEST_MS, { kind: "digests" });
    for (let next = this.#events.next(); next !== undefined; next = this.#events.next()) {
      if (next.atMs > this.#scenario.lengthMs) break;
      this.#now = next.atMs;
      this.#handle(next.event);
    }
    for (const cell of this.#cells) cell.count(this.#scenario.lengthMs);
    return {
      policy: this.#policy,
      requests: this.#waits.length,
      waitMs: quantiles(this.#waits),
      cost: this.#cells.reduce((sum, { cost }) => sum + cost, 0),
      spilled: this.#spilled / Math.max(1, this.#waits.length),
      mostPods: this.#cells.map(({ mostPods }) => mostPods),
    };
  }

  #handle(event: Event): void {
    if (event.kind === "digests") return this.#tellDigests();
    const cell = this.#cells[event.cell];
    if (cell === undefined || event.life !== (this.#lives[event.cell] ?? 0)) return;
    cell.count(this.#now);
    switch (event.kind) {
      case "arrival":
        this.#planArrival(event.cell);
        return this.#place({ arrivedAt: this.#now, entry: event.cell });
      case "started":
        cell.starting -= 1;
        cell.busy += 1;
        return this.#next(event.cell);
      case "done":
        return this.#next(event.cell);
      case "idle":
        return cell.expire(this.#now, this.#scenario.cooldownMs);
    }
  }

  /** At most as many as there are cells are asked; the last one takes it. */
  #place(request: WaitingRequest): void {
    const tried = new Set<number>();
    for (let tries = 0; tries < this.#cells.length; tries += 1) {
      const entry = this.#cells[request.entry];
      if (entry?.isLost(this.#now) !== true && entry?.take() === true) {
        return this.#serve(request.entry, request);
      }
      const placed = place(this.#policy, request.entry, this.#view(), tried);
      if (placed.cell === request.entry) break;
      this.#noteSent(request.entry, placed.cell);
      if (this.#admit(placed.cell, request, placed.isWarm)) return;
      tried.add(placed.cell);
    }
    this.#admit(request.entry, request, false);
  }

  #view(): Parameters<typeof place>[2] {
    return {
      scenario: this.#scenario,
      cells: this.#cells,
      digests: this.#digests,
      sent: (entry, cell) => this.#sent.get(entry * 1_000 + cell) ?? 0,
      random: this.#random,
      atMs: this.#now,
    };
  }

  /** False: a free slot was asked for, and there is none. */
  #admit(index: number, request: WaitingRequest, onlyWarm: boolean): boolean {
    const cell = this.#cells[index];
    if (cell === undefined || (cell.isLost(this.#now) && index !== request.entry)) return false;
    cell.count(this.#now);
    if (!cell.isLost(this.#now) && cell.take()) {
      this.#serve(index, request);
      return true;
    }
    if (onlyWarm) return false;
    cell.queue.push(request);
    this.#start(index);
    return true;
  }

  #start(index: number): void {
    const cell = this.#cells[index];
    if (cell === undefined || cell.isLost(this.#now) || !cell.canStart()) return;
    cell.starting += 1;
    const spread = 1 + START_SPREAD * (2 * this.#random() - 1);
    this.#events.add(this.#now + cell.spec.startMs * spread, this.#event("started", index));
  }

  /** A pod is free: the next request, or rest. */
  #next(index: number): void {
    const cell = this.#cells[index];
    if (cell === undefined) return;
    const request = cell.queue.shift();
    if (request !== undefined) return this.#serve(index, request);
    cell.busy -= 1;
    cell.rest(this.#now);
    this.#events.add(this.#now + this.#scenario.cooldownMs, this.#event("idle", index));
  }

  #serve(index: number, request: WaitingRequest): void {
    const hopMs = this.#scenario.roundTripMs(request.entry, index);
    this.#waits.push(this.#now - request.arrivedAt + hopMs);
    if (index !== request.entry) this.#spilled += 1;
    const serviceMs = -Math.log(1 - this.#random()) * this.#scenario.serviceMs;
    this.#events.add(this.#now + hopMs + serviceMs, this.#event("done", index));
  }

  #tellDigests(): void {
    for (const [index, cell] of this.#cells.entries()) this.#loseIfLost(index, cell);
    this.#digests = this.#cells.map((cell) => cell.figures);
    this.#sent.clear();
    for (const [index, cell] of this.#cells.entries()) {
      if (cell.queue.length > 0) this.#start(index);
    }
    this.#events.add(this.#now + DIGEST_MS, { kind: "digests" });
  }

  #loseIfLost(index: number, cell: CellState): void {
    if (!cell.isLost(this.#now) || cell.pods === 0) return;
    cell.count(this.#now);
    this.#lives[index] = (this.#lives[index] ?? 0) + 1;
    // Its callers come in at the same door again, as soon as it stands.
    const waiting = cell.lose();
    for (const request of waiting) this.#place(request);
    this.#planArrival(index);
  }

  #noteSent(entry: number, cell: number): void {
    const key = entry * 1_000 + cell;
    this.#sent.set(key, (this.#sent.get(key) ?? 0) + 1);
  }

  #planArrival(index: number): void {
    const perMs = loadAt(this.#scenario, index, this.#now) / this.#scenario.serviceMs;
    const pauseMs = -Math.log(1 - this.#random()) / perMs;
    this.#events.add(this.#now + pauseMs, this.#event("arrival", index));
  }

  #event(kind: "arrival" | "done" | "started" | "idle", cell: number): Event {
    return { kind, cell, life: this.#lives[cell] ?? 0 };
  }
}
