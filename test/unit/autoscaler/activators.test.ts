/** How many activators serve a revision, over loads and over time. */
import { describe, expect, it } from "vitest";
import {
  activatorsForLoad,
  LEAST_WINDOW_MS,
  nextActivators,
} from "../../../autoscaler/core/activators.ts";
import type { ActivatorState } from "../../../autoscaler/core/activators.ts";

const CAPACITY = 100;

describe("activators for a load", () => {
  it.each([
    { name: "two at zero", pods: 0, cc: 1, busy: 0, waiting: 0, count: 2 },
    { name: "two for what one could carry", pods: 20, cc: 1, busy: 20, waiting: 0, count: 2 },
    { name: "more before two are full", pods: 170, cc: 1, busy: 10, waiting: 0, count: 3 },
    {
      name: "slots of pods that are only asked for",
      pods: 50,
      cc: 10,
      busy: 0,
      waiting: 9,
      count: 8,
    },
    { name: "what waits beyond the slots", pods: 1, cc: 1, busy: 1, waiting: 600, count: 8 },
    {
      name: "what runs where slots have no limit",
      pods: 3,
      cc: 0,
      busy: 900,
      waiting: 0,
      count: 12,
    },
  ])("$name", ({ pods, cc: containerConcurrency, busy, waiting, count }) => {
    const load = { pods, containerConcurrency, busy, waiting };
    expect(activatorsForLoad(load, CAPACITY)).toBe(count);
  });

  it("never has less room than the load and a quarter, in few steps", () => {
    const counts = new Set<number>();
    for (let inFlight = 0; inFlight <= 20_000; inFlight += 50) {
      const load = { pods: 0, containerConcurrency: 0, busy: inFlight, waiting: 0 };
      const count = activatorsForLoad(load, CAPACITY);
      expect(count * CAPACITY).toBeGreaterThanOrEqual(inFlight * 1.25);
      counts.add(count);
    }
    expect([...counts]).toEqual([2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]);
  });
});

describe("activators over time", () => {
  const at = (nowMs: number, windowMs = LEAST_WINDOW_MS) => ({ nowMs, windowMs });
  const after = (needs: readonly (readonly [second: number, needed: number])[]): number => {
    let state: ActivatorState | null = null;
    for (const [second, needed] of needs) {
      state = nextActivators(state, needed, at(second * 1_000));
    }
    return state?.count ?? 0;
  };

  it.each([
    {
      name: "more at once",
      needs: [
        [0, 2],
        [2, 8],
      ],
      count: 8,
    },
    {
      name: "not fewer within the window",
      needs: [
        [0, 8],
        [2, 2],
        [61, 2],
      ],
      count: 8,
    },
    {
      name: "fewer after the window",
      needs: [
        [0, 8],
        [2, 2],
        [62, 2],
      ],
      count: 2,
    },
    {
      name: "a need in between begins it anew",
      needs: [
        [0, 8],
        [2, 2],
        [30, 8],
        [62, 2],
        [90, 2],
      ],
      count: 8,
    },
    {
      name: "as many as were needed within it",
      needs: [
        [0, 8],
        [2, 2],
        [30, 4],
        [62, 2],
      ],
      count: 4,
    },
    {
      name: "the rest after another window",
      needs: [
        [0, 8],
        [2, 2],
        [30, 4],
        [62, 2],
        [122, 2],
      ],
      count: 2,
    },
  ] as const)("$name", ({ needs, count }) => expect(after(needs)).toBe(count));

  it("holds for the window of the revision where that is longer", () => {
    const start = nextActivators(null, 8, at(0, 300_000));
    const low = nextActivators(start, 2, at(1_000, 300_000));
    expect(nextActivators(low, 2, at(300_000, 300_000)).count).toBe(8);
    expect(nextActivators(low, 2, at(301_000, 300_000)).count).toBe(2);
  });
});
