/** The test vectors of the scaling rules, on the decision that ships. */
import { describe, expect, test } from "vitest";
import { decide } from "../../../autoscaler/core/decision.ts";
import type { DecisionInputs } from "../../../autoscaler/core/decision.ts";
import {
  LoadFeed,
  decideSteady,
  decisionInputs,
  initialisedState,
  readyPods,
  settingsOf,
} from "../../support/autoscaler-decisions.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly annotations?: Record<string, string>;
  readonly cc?: number;
  readonly inFlight?: number;
  readonly rate?: number;
  readonly rest?: Partial<DecisionInputs>;
  readonly want: number;
}

const ready = (count: number): Partial<DecisionInputs> => ({
  readyPods: count,
  pods: readyPods(count),
  currentReplicas: count,
});

const ROWS: readonly Row[] = [
  { id: "S1", name: "no pod, 3 waiting", rest: { waiting: 3, aged: 3 }, want: 3 },
  {
    id: "S2",
    name: "70 % utilization of 7 in flight",
    annotations: { "target-utilization-percentage": "70", "max-scale": "20" },
    inFlight: 7,
    want: 10,
  },
  {
    id: "S3",
    name: "200 slots at 80 % carry 320 with 2 pods",
    annotations: { "target-utilization-percentage": "80" },
    cc: 200,
    inFlight: 320,
    want: 2,
  },
  {
    id: "S4",
    name: "and one more needs a third",
    annotations: { "target-utilization-percentage": "80" },
    cc: 200,
    inFlight: 321,
    want: 3,
  },
  {
    id: "S5",
    name: "42 requests per second at 5 per pod",
    annotations: { metric: "rps", target: "5" },
    rate: 42,
    want: 9,
  },
  {
    id: "S6",
    name: "min 1 and buffer 3, idle",
    annotations: { "min-scale": "1", "scaling-buffer": "3" },
    want: 1,
  },
  {
    id: "S7",
    name: "min 1 and buffer 3, one in flight",
    annotations: { "min-scale": "1", "scaling-buffer": "3" },
    inFlight: 1,
    want: 4,
  },
  {
    id: "S8",
    name: "buffer 3 always, idle",
    annotations: { "scaling-buffer": "3", "scaling-buffer-mode": "always" },
    want: 3,
  },
  {
    id: "S9",
    name: "buffer 3 is cut at max 10",
    annotations: { "scaling-buffer": "3", "max-scale": "10" },
    inFlight: 9,
    want: 10,
  },
  {
    id: "S10",
    name: "buffer 25 % of 10",
    annotations: { "scaling-buffer": "25%", "max-scale": "100" },
    inFlight: 10,
    want: 13,
  },
  {
    id: "S11",
    name: "buffer 25 % of 1",
    annotations: { "scaling-buffer": "25%", "max-scale": "100" },
    inFlight: 1,
    want: 2,
  },
  {
    id: "S12",
    name: "cpu at 100 % of a target of 80",
    annotations: { metric: "cpu", target: "80", "min-scale": "1" },
    rest: { ...ready(4), resourcePercent: 100 },
    want: 5,
  },
  {
    id: "S13",
    name: "memory at 35 % of a target of 80",
    annotations: { metric: "memory", target: "80", "min-scale": "1" },
    rest: { ...ready(4), resourcePercent: 35 },
    want: 2,
  },
  {
    id: "S14",
    name: "the hard limit of 4 caps a target of 10",
    annotations: { target: "10" },
    cc: 4,
    inFlight: 9,
    want: 3,
  },
  { id: "S15", name: "no hard limit means 100 per pod", cc: 0, inFlight: 250, want: 3 },
  { id: "S16", name: "a little load is one pod", inFlight: 0.02, want: 1 },
  {
    id: "S17",
    name: "max 0 is no limit",
    annotations: { "max-scale": "0" },
    rest: { waiting: 40, aged: 40 },
    want: 40,
  },
  {
    id: "S18",
    name: "min 2 above the load",
    annotations: { "min-scale": "2" },
    inFlight: 1,
    want: 2,
  },
  {
    id: "S19",
    name: "2 busy and 3 aged beyond a mean of 2.4",
    inFlight: 2.4,
    rest: { ...ready(2), busy: 2, waiting: 3, aged: 3 },
    want: 5,
  },
];

describe("want", () => {
  test.each(ROWS)("$id $name", (row) => {
    const settings = settingsOf(row.annotations, { containerConcurrency: row.cc ?? 1 });
    const decision = decideSteady(settings, row, row.rest);
    expect(decision.explanation.want).toBe(row.want);
  });

  test("a buffer falls back to min once the cooldown is over", () => {
    const settings = settingsOf({ "min-scale": "1", "scaling-buffer": "3" });
    const feed = new LoadFeed(settings.windowMs);
    feed.run(30, 1);
    let state = initialisedState();
    let replicas = 4;
    const seen: number[] = [];
    for (let second = 0; second <= 60; second += 2) {
      feed.run(2, 0);
      const decision = decide(
        decisionInputs({
          settings,
          state,
          ...ready(replicas),
          history: feed.history,
          nowMs: feed.nowMs,
        }),
      );
      state = decision.state;
      replicas = decision.replicas;
      seen.push(replicas);
    }
    expect(seen[0]).toBe(4);
    expect(seen.at(-1)).toBe(1);
    expect(new Set(seen)).toEqual(new Set([4, 1]));
  });

  test.each([
    { use: 88, want: 4 },
    { use: 89, want: 5 },
    { use: 72, want: 4 },
    { use: 71, want: 4 },
    { use: 60, want: 3 },
  ])("cpu at $use % of a target of 80 over 4 pods wants $want", ({ use, want }) => {
    const settings = settingsOf({ metric: "cpu", target: "80", "min-scale": "1" });
    const decision = decideSteady(settings, {}, { ...ready(4), resourcePercent: use });
    expect(decision.explanation.want).toBe(want);
  });

  test("activation-scale raises the first pods and nothing at zero", () => {
    const settings = settingsOf({ "activation-scale": "3" });
    expect(decideSteady(settings, {}).explanation.want).toBe(0);
    expect(decideSteady(settings, {}, { waiting: 1, aged: 1 }).explanation.want).toBe(3);
  });

  test("service-min-scale is divided by traffic, one pod above it at most", () => {
    const settings = settingsOf({ "service-min-scale": "5" });
    const shares = [0.3, 0.7].map(
      (trafficShare) => decideSteady(settings, {}, { trafficShare }).explanation.want,
    );
    expect(shares).toEqual([2, 4]);
  });
});

/** Wants over time, ticks of 2 s; `want` from min-scale, so that the cooldown alone speaks. */
function cooled(wants: (second: number) => number, until: number, cooldown = "60s"): number[] {
  const seen: number[] = [];
  let state = initialisedState();
  for (let second = -60; second <= until; second += 2) {
    const min = wants(second);
    const decision = decide(
      decisionInputs({
        settings: settingsOf({ cooldown, "min-scale": String(min), "max-scale": "0" }),
        ...ready(8),
        nowMs: 1_700_000_000_000 + second * 1_000,
        state,
      }),
    );
    state = decision.state;
    if (second >= 0) seen.push(decision.replicas);
  }
  return seen;
}

const at = (seen: readonly number[], second: number): number | undefined => seen[second / 2];

describe("cooldown", () => {
  test("S20 holds 8 up to the tick at 58 s and lets all go at 60 s", () => {
    const seen = cooled((second) => (second <= 0 ? 8 : 0), 62);
    expect(seen.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 8));
    expect(at(seen, 60)).toBe(0);
  });

  test("S21 a late request holds only itself", () => {
    const settings = settingsOf({ cooldown: "60s", window: "30s" });
    const feed = new LoadFeed(settings.windowMs);
    feed.run(30, 0);
    let state = initialisedState();
    state.cooldown.enter(feed.nowMs, 8);
    let replicas = 8;
    const seen: number[] = [];
    for (let second = 2; second <= 150; second += 2) {
      feed.run(1, second === 52 ? 1 : 0);
      feed.run(1, 0);
      const inputs = { settings, state, history: feed.history, nowMs: feed.nowMs };
      const decision = decide(decisionInputs({ ...inputs, ...ready(replicas) }));
      state = decision.state;
      replicas = decision.replicas;
      seen[second] = replicas;
    }
    for (let second = 2; second <= 58; second += 2) expect(seen[second], `t=${second}`).toBe(8);
    for (let second = 60; second <= 138; second += 2) expect(seen[second], `t=${second}`).toBe(1);
    const zeroAt = seen.findIndex((count, second) => second > 60 && count === 0);
    expect(zeroAt).toBeGreaterThanOrEqual(140);
    expect(zeroAt).toBeLessThanOrEqual(144);
  });

  test("S22 steps down as each want leaves the window", () => {
    const seen = cooled((second) => (second <= 0 ? 8 : second <= 30 ? 5 : 2), 100);
    for (let second = 0; second <= 58; second += 2) expect(at(seen, second)).toBe(8);
    for (let second = 60; second <= 88; second += 2) expect(at(seen, second)).toBe(5);
    for (let second = 90; second <= 100; second += 2) expect(at(seen, second)).toBe(2);
  });

  test("0s follows the want at once", () => {
    expect(cooled((second) => (second <= 0 ? 8 : 3), 4, "0s")).toEqual([8, 3, 3]);
  });
});
