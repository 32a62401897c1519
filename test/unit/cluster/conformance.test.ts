/** Which verdicts of Knative's own suites are faults of ours: what stock passes has to pass. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DEPARTURES, readVerdicts, worseThan } from "../../cluster/steps/conformance.ts";
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

describe("what we do otherwise on purpose", () => {
  const inner = "TestRevisionTimeout/writes_first_byte_before_timeout";
  const stock = results({ TestRevisionTimeout: "pass", [inner]: "pass" });

  it("is not held against us, nor against the test around it", () => {
    const ours = results({ TestRevisionTimeout: "fail", [inner]: "fail" });
    expect(worseThan(stock, ours)).toEqual([]);
  });

  it("covers nothing else in the same test", () => {
    const other = "TestRevisionTimeout/exceeds_timeout_seconds";
    const ours = { TestRevisionTimeout: "fail", [inner]: "fail", [other]: "fail" };
    expect(worseThan([...stock, ...results({ [other]: "pass" })], results(ours))).toEqual([
      "TestRevisionTimeout",
      other,
    ]);
  });

  it("does not excuse a test that never ran, or failed by itself", () => {
    expect(worseThan(stock, [])).toEqual(["TestRevisionTimeout", inner]);
    const ours = results({ TestRevisionTimeout: "fail", [inner]: "pass" });
    expect(worseThan(stock, ours)).toEqual(["TestRevisionTimeout"]);
  });

  it("has a row among the differences", () => {
    const page = readFileSync("docs/reference/differences.md", "utf8");
    for (const row of DEPARTURES.values()) expect(page).toContain(`| ${row} |`);
  });
});

it("reads the verdicts of tests in tests", () => {
  const output = "=== RUN TestA\n--- FAIL: TestA (1.00s)\n    --- PASS: TestA/one (0.50s)\nPASS\n";
  expect(readVerdicts("api.test", output)).toEqual([
    { suite: "api.test", test: "TestA", verdict: "fail" },
    { suite: "api.test", test: "TestA/one", verdict: "pass" },
  ]);
});
