/** The simulator against the golden runs: every figure to the digits given, not only within 2 %. */
import { describe, expect, it } from "vitest";
import { goldenDeviation, goldenRuns, summaryOf } from "../../support/hexgen-golden.ts";

const runs = goldenRuns();

describe("golden runs of the simulator", () => {
  it("are 24 of published orders, 9 of the platform's and one by hand", () => {
    expect(runs).toHaveLength(34);
  });

  it.each(runs)("$name", (run) => {
    const summary = summaryOf(run);
    const found = run.given.map(({ digits, of }) => Number(of(summary).toFixed(digits)));
    expect(found).toEqual(run.given.map(({ value }) => value));
  });

  it("are judged by the figure that is furthest off", () => {
    const [first] = runs.slice(-1);
    if (first === undefined) throw new Error("There is no run.");
    const given = first.given.map((figure) => ({ ...figure, value: figure.value * 1.25 }));
    expect(goldenDeviation([first])).toBe(0);
    expect(goldenDeviation([{ ...first, given }])).toBeCloseTo(0.2, 6);
  });
});
