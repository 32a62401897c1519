/** The verdict helper that every proof command shares. */
import { describe, expect, it } from "vitest";
import { ReportBuilder, exitCodeOf, judge, meets } from "../../../foundation/report.ts";

describe("meets", () => {
  const rows = [
    { figure: 5, limit: "<= 5", wanted: true },
    { figure: 5.01, limit: "<= 5", wanted: false },
    { figure: 3, limit: ">= 3", wanted: true },
    { figure: 2, limit: ">= 3", wanted: false },
    { figure: 0, limit: "0", wanted: true },
    { figure: 1, limit: "0", wanted: false },
    { figure: -0.5, limit: "< 0", wanted: true },
  ];
  for (const { figure, limit, wanted } of rows) {
    it(`${figure} ${wanted ? "meets" : "misses"} ${limit}`, () =>
      expect(meets(figure, limit)).toBe(wanted));
  }

  it("refuses a limit that it does not understand", () => {
    expect(() => meets(1, "at most 5")).toThrow('Limit "at most 5"');
  });
});

describe("judge", () => {
  const row = { id: "x", unit: "ms", must: "<= 5", goal: "<= 1" };
  const rows = [
    { name: "meets the goal", input: { ...row, value: 1 }, verdict: "goal" },
    { name: "meets the must only", input: { ...row, value: 4 }, verdict: "must" },
    { name: "misses the must", input: { ...row, value: 6 }, verdict: "short" },
    { name: "was not measured", input: { ...row, value: null, why: "no peer" }, verdict: "short" },
    {
      name: "has a ratio, which decides",
      input: { ...row, value: 100, ratio: 0.9 },
      verdict: "goal",
    },
    {
      name: "has a goal only and misses it",
      input: { id: "x", unit: "ms", value: 9, goal: "<= 1" },
      verdict: "must",
    },
  ] as const;
  for (const { name, input, verdict } of rows) {
    it(`says ${verdict} for a row that ${name}`, () => expect(judge(input).verdict).toBe(verdict));
  }
});

describe("exit code", () => {
  it("is 0 only for a complete run that misses no must", () => {
    const builder = new ReportBuilder("demo");
    builder.row({ id: "a", value: 1, unit: "count", must: "<= 1" });
    expect(exitCodeOf(builder.report())).toBe(1);
    builder.complete();
    expect(exitCodeOf(builder.report())).toBe(0);
    builder.row({ id: "b", value: 2, unit: "count", must: "<= 1" });
    expect(exitCodeOf(builder.report())).toBe(1);
  });
});
