/** Which verdicts of Knative's own suites are faults of ours: what stock passes has to pass. */
import { describe, expect, it } from "vitest";
import { worseThan } from "../../cluster/steps/conformance.ts";
import type { SuiteResult } from "../../cluster/steps/conformance.ts";

const results = (verdicts: Readonly<Record<string, string>>): readonly SuiteResult[] =>
  Object.entries(verdicts).map(([test, verdict]) => ({ suite: "api.test", test, verdict }));

const STOCK = results({ TestA: "pass", TestB: "fail", TestC: "skip" });

describe("tests that are worse than on stock", () => {
  it.each([
    ["none where all verdicts are the same", { TestA: "pass", TestB: "fail", TestC: "skip" }, []],
    ["none where more pass", { TestA: "pass", TestB: "pass", TestC: "fail" }, []],
    ["one that fails", { TestA: "fail", TestB: "pass" }, ["TestA"]],
    ["one that is skipped", { TestA: "skip", TestB: "pass" }, ["TestA"]],
    ["one that a time-out left without a verdict", { TestB: "pass" }, ["TestA"]],
  ])("are %s", (_, ours: Readonly<Record<string, string>>, worse) => {
    expect(worseThan(STOCK, results(ours))).toEqual(worse);
  });
});
