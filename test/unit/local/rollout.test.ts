/** Steps of a rollout: splits, instants, and when a step may be taken. */
import { describe, expect, it } from "vitest";
import { boundsOf } from "../../../autoscaler/core/bounds.ts";
import {
  beginRollout,
  mayStep,
  nextStep,
  rolloutSplit,
  ROLLOUT_STEPS,
  scaleSplit,
  stepDueAt,
} from "../../../local/rollout.ts";
import type { Rollout, StepFacts } from "../../../local/rollout.ts";

const target = (revision: string, percent: number) => ({ revision, percent });
const show = (split: readonly { revision: string; percent: number }[]): string =>
  split.map(({ revision, percent }) => `${revision} ${percent}`).join(", ");

function splitsOf(from: readonly { revision: string; percent: number }[]): string[] {
  const seen: string[] = [];
  let rollout: Rollout | null = beginRollout("new", from, 0);
  while (rollout !== null) {
    seen.push(show(rolloutSplit(rollout)));
    rollout = nextStep(rollout, 0);
  }
  return seen;
}

describe("the split", () => {
  it("moves by a fifth per step, and the end of the rollout is the fifth step", () => {
    expect(ROLLOUT_STEPS).toBeGreaterThanOrEqual(5);
    expect(splitsOf([target("old", 100)])).toEqual([
      "old 80, new 20",
      "old 60, new 40",
      "old 40, new 60",
      "old 20, new 80",
    ]);
  });

  it("drains the oldest first when a rollout overtakes another", () => {
    expect(splitsOf([target("a", 60), target("b", 40)])).toEqual([
      "a 40, b 40, new 20",
      "a 20, b 40, new 40",
      "b 40, new 60",
      "b 20, new 80",
    ]);
  });

  const rows: [split: [string, number][], total: number, scaled: string][] = [
    [
      [
        ["a", 80],
        ["b", 20],
      ],
      100,
      "a 80, b 20",
    ],
    [
      [
        ["a", 80],
        ["b", 20],
      ],
      50,
      "a 40, b 10",
    ],
    [
      [
        ["a", 80],
        ["b", 20],
      ],
      7,
      "a 6, b 1",
    ],
    [
      [
        ["a", 80],
        ["b", 20],
      ],
      1,
      "a 1",
    ],
    [
      [
        ["a", 40],
        ["b", 60],
      ],
      1,
      "b 1",
    ],
    [
      [
        ["a", 33],
        ["b", 33],
        ["c", 34],
      ],
      10,
      "a 3, b 3, c 4",
    ],
    [
      [
        ["a", 50],
        ["b", 50],
      ],
      1,
      "b 1",
    ],
    [
      [
        ["a", 50],
        ["b", 50],
      ],
      0,
      "",
    ],
  ];
  it.each(rows)("%j of %d percent is %s", (split, total, scaled) => {
    const result = scaleSplit(
      split.map(([revision, percent]) => target(revision, percent)),
      total,
    );
    expect(show(result)).toBe(scaled);
    expect(result.reduce((sum, { percent }) => sum + percent, 0)).toBe(total);
  });
});

it("asks for at most one pod above service-min-scale at every step", () => {
  const podsOf = (serviceMinScale: number, percent: number): number =>
    boundsOf({
      settings: { minScale: 0, maxScale: 0, initialScale: 0, serviceMinScale },
      reachable: true,
      scaleToZero: true,
      initialising: false,
      activating: false,
      fresh: false,
      trafficShare: percent / 100,
    }).min;
  for (let serviceMin = 1; serviceMin <= 40; serviceMin += 1) {
    let rollout: Rollout | null = beginRollout("new", [target("old", 100)], 0);
    while (rollout !== null) {
      const pods = rolloutSplit(rollout).map(({ percent }) => podsOf(serviceMin, percent));
      const sum = pods.reduce((total, count) => total + count, 0);
      expect(sum).toBeGreaterThanOrEqual(serviceMin);
      expect(sum).toBeLessThanOrEqual(serviceMin + 1);
      rollout = nextStep(rollout, 0);
    }
  }
});

describe("the next step", () => {
  it("is due so that the last one falls on the end of the duration", () => {
    let rollout: Rollout | null = beginRollout("new", [target("old", 100)], 1_000);
    const instants = [1_000];
    while (rollout !== null) {
      const due = stepDueAt(rollout, 60_000);
      instants.push(due);
      rollout = nextStep(rollout, due);
    }
    expect(instants).toEqual([1_000, 16_000, 31_000, 46_000, 61_000]);
  });

  const idle: StepFacts = { slots: 0, ownLoad: 0, wholeLoad: 0, readyPods: 0, wantedPods: 0 };
  const rows: [name: string, facts: Partial<StepFacts>, may: boolean][] = [
    ["without traffic nothing is needed", {}, true],
    ["no pod and no want yet, with traffic", { wholeLoad: 10 }, false],
    ["two free slots for a fifth of ten", { slots: 4, ownLoad: 2, wholeLoad: 10 }, true],
    ["one free slot for a fifth of ten", { slots: 3, ownLoad: 2, wholeLoad: 10 }, false],
    ["a fifth of six rounds up to two", { slots: 1, ownLoad: 0, wholeLoad: 6 }, false],
    ["a pod without limit", { slots: Infinity, ownLoad: 500, wholeLoad: 900 }, true],
    [
      "full, but all wanted pods are ready",
      { slots: 2, ownLoad: 2, wholeLoad: 10, readyPods: 2, wantedPods: 2 },
      true,
    ],
    [
      "full, and a wanted pod starts",
      { slots: 2, ownLoad: 2, wholeLoad: 10, readyPods: 2, wantedPods: 3 },
      false,
    ],
  ];
  it.each(rows)("%s", (_name, facts, may) => {
    const rollout = beginRollout("new", [target("old", 100)], 0);
    expect(mayStep(rollout, { ...idle, ...facts })).toBe(may);
  });
});
