/** When a pod is ready: thresholds, busy probes, refusals, and what the container says. */
import { describe, expect, it } from "vitest";
import type { ProbeOutcome } from "../../../../queue-proxy/core/readiness.ts";
import { Readiness } from "../../../../queue-proxy/core/readiness.ts";

function after(outcomes: readonly ProbeOutcome[], success = 1, failure = 3): string {
  const readiness = new Readiness({ success, failure });
  for (const outcome of outcomes) readiness.onProbe(outcome, "why");
  return readiness.verdict().state;
}

const P = "passed";
const F = "failed";
const R = "refused";
const B = "busy";

describe("the probe", () => {
  it.each<[string, readonly ProbeOutcome[], string]>([
    ["nothing probed is starting", [], "starting"],
    ["one pass is ready", [P], "ready"],
    ["failures before the first pass are still starting", [F, F, F, F], "starting"],
    ["two failures do not unready", [P, F, F], "ready"],
    ["three failures unready", [P, F, F, F], "unready"],
    ["a pass between failures resets them", [P, F, F, P, F, F], "ready"],
    ["refusals count as failures", [P, R, R, R], "unready"],
    ["busy says nothing", [P, B, B, B, B, B], "ready"],
    ["busy neither adds to failures nor resets them", [P, F, B, F, B, F], "unready"],
    ["a pass after unready is ready", [P, F, F, F, P], "ready"],
  ])("%s", (_name, outcomes, expected) => {
    expect(after(outcomes)).toBe(expected);
  });

  it("needs the success threshold in a row", () => {
    expect(after([P, P], 3)).toBe("starting");
    expect(after([P, P, F, P], 3)).toBe("starting");
    expect(after([P, P, F, P, P, P], 3)).toBe("ready");
  });

  it("names why it is not ready", () => {
    const readiness = new Readiness({ success: 1, failure: 1 });
    readiness.onProbe("failed", "probe answered 503");
    expect(readiness.verdict()).toEqual({ state: "starting", reason: "probe answered 503" });
    readiness.onProbe("passed");
    expect(readiness.verdict()).toEqual({ state: "ready", reason: "" });
  });
});

describe("a refused request", () => {
  it("makes the pod unready without a threshold", () => {
    const readiness = new Readiness({ success: 2, failure: 3 });
    readiness.onProbe("passed");
    readiness.onProbe("passed");
    readiness.onRefused();
    expect(readiness.verdict().state).toBe("unready");
    readiness.onProbe("passed");
    expect(readiness.verdict().state).toBe("unready");
    readiness.onProbe("passed");
    expect(readiness.verdict().state).toBe("ready");
  });
});

describe("the container's own word", () => {
  it("is needed beside the probe once it was given", () => {
    const readiness = new Readiness({ success: 1, failure: 3 });
    readiness.onContainerState("loading");
    readiness.onProbe("passed");
    expect(readiness.verdict()).toEqual({ state: "starting", reason: "container says loading" });
    readiness.onContainerState("ready");
    expect(readiness.verdict().state).toBe("ready");
    readiness.onContainerState("paused");
    expect(readiness.verdict()).toEqual({ state: "unready", reason: "container says paused" });
  });

  it("does not replace the probe", () => {
    const readiness = new Readiness({ success: 1, failure: 3 });
    readiness.onContainerState("ready");
    expect(readiness.verdict().state).toBe("starting");
  });
});

it("withholds ready until told otherwise", () => {
  const readiness = new Readiness({ success: 1, failure: 3 });
  readiness.withhold("restarted");
  readiness.onProbe("passed");
  expect(readiness.verdict()).toEqual({ state: "starting", reason: "restarted" });
  readiness.withhold("");
  expect(readiness.verdict().state).toBe("ready");
});
