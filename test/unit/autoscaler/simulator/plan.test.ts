/** Search, plan and recording: what they promise on traces small enough to check by hand. */
import { beforeAll, describe, expect, test } from "vitest";
import { frontierPlot } from "../../../../autoscaler/simulator/scaling/frontier-plot.ts";
import {
  planSettings,
  runWorkload,
  SIMULATED_DEFAULTS,
} from "../../../../autoscaler/simulator/scaling/plan.ts";
import type { Workload } from "../../../../autoscaler/simulator/scaling/plan.ts";
import {
  arrivalsFromLog,
  formatTrace,
} from "../../../../autoscaler/simulator/scaling/recording.ts";
import { frontier, searchSettings } from "../../../../autoscaler/simulator/scaling/search.ts";
import type { Annotations } from "../../../../autoscaler/simulator/scaling/search.ts";
import { shapeTrace, SHAPES } from "../../../../autoscaler/simulator/scaling/shapes.ts";
import { parseTrace } from "../../../../autoscaler/simulator/scaling/traces.ts";
import type { ScalingResult } from "../../../../autoscaler/simulator/scaling/types.ts";
import {
  fullKey,
  parseAnnotations,
  parseTarget,
  parseTime,
} from "../../../../autoscaler/simulator/scaling/words.ts";

const workload: Workload = {
  arrivals: shapeTrace("poisson", {
    peakRate: 0.3,
    durationMs: 200_000,
    serviceMs: 2_000,
    seed: 3,
  }),
  startTimesMs: [4_000, 6_000],
  containerConcurrency: 1,
  annotations: {},
  seed: 1,
  defaults: SIMULATED_DEFAULTS,
};

function resultWith(gpuSeconds: number, waitMs: number): ScalingResult {
  const base = runWorkload({ ...workload, arrivals: [{ atMs: 0, serviceMs: 1 }] }, {});
  return {
    ...base,
    podSeconds: { ...base.podSeconds, total: gpuSeconds },
    waitMs: { ...base.waitMs, p95: waitMs },
  };
}

describe("a search", () => {
  const knobs = [
    { key: "a", values: ["0", "1", "2", "3", "4", "5"], coarse: ["0", "5"] },
    { key: "b", values: ["0", "1", "2", "3", "4", "5"], coarse: ["0"] },
  ];
  const at = ({ a = "", b = "" }: Annotations): ScalingResult =>
    resultWith((Number(a) - 2) ** 2 + (Number(b) - 3) ** 2, 0);

  test("finds the lowest point of a slope from any of its coarse points, each tried once", () => {
    const seen: string[] = [];
    const evaluate = (annotations: Annotations): ScalingResult => {
      seen.push(JSON.stringify(annotations));
      return at(annotations);
    };
    const score = ({ podSeconds }: ScalingResult): number => podSeconds.total;
    const { best, tried } = searchSettings({ knobs, evaluate, score });
    expect(best.annotations).toEqual({ a: "2", b: "3" });
    expect(new Set(seen).size).toBe(seen.length);
    expect(tried).toHaveLength(seen.length);
  });

  test("leaves a frontier that nothing beats", () => {
    const points = [
      [10, 50],
      [5, 90],
      [7, 95],
      [10, 40],
      [20, 40],
      [30, 1],
    ] as const;
    const tried = points.map(([gpu, wait]) => ({
      annotations: {},
      result: resultWith(gpu, wait),
    }));
    const kept = frontier(tried, ({ waitMs }) => waitMs.p95);
    expect(kept.map(({ result }) => [result.podSeconds.total, result.waitMs.p95])).toEqual([
      [5, 90],
      [10, 40],
      [30, 1],
    ]);
  });
});

describe("a plan", () => {
  const target = { quantile: "p95", limitMs: 4_000 } as const;
  let plan: ReturnType<typeof planSettings>;
  // Hundreds of simulations.
  beforeAll(() => void (plan = planSettings(workload, target)), 60_000);

  test("meets the target, with annotations that do so when they are pasted", () => {
    expect(plan.meets).toBe(true);
    const pasted = runWorkload(workload, plan.annotations);
    expect(pasted.waitMs.p95).toBeLessThanOrEqual(target.limitMs);
    expect(pasted.podSeconds.total).toBeCloseTo(plan.best.result.podSeconds.total, 6);
  });

  test("costs no more than anything on its frontier that meets the target", () => {
    const meeting = plan.frontier.filter(({ result }) => result.waitMs.p95 <= target.limitMs);
    const cheapest = Math.min(...meeting.map(({ result }) => result.podSeconds.total));
    expect(plan.best.result.podSeconds.total).toBeCloseTo(cheapest, 6);
  });

  test("says so when nothing meets the target", () => {
    const single = { ...workload, arrivals: [{ atMs: 0, serviceMs: 1_000 }] };
    const hopeless = planSettings(single, { quantile: "p95", limitMs: 100 });
    expect(hopeless.meets).toBe(false);
    expect(hopeless.best.result.waitMs.p95).toBeGreaterThan(3_000);
    const again = planSettings(single, { quantile: "p95", limitMs: 100 });
    expect(JSON.stringify(again)).toBe(JSON.stringify(hopeless));
  }, 60_000);

  test("draws its frontier, whatever stands in the title", () => {
    const svg = frontierPlot({
      title: "a < b",
      waitLabel: "s",
      waitOf: ({ waitMs }) => waitMs.p95,
      targetMs: target.limitMs,
      best: plan.best,
      ours: plan.frontier,
      stock: plan.stockFrontier,
    });
    expect(svg).toContain("a &lt; b");
    expect(svg).not.toMatch(/NaN|Infinity/);
    expect(svg.match(/<circle/g)).toHaveLength(
      plan.frontier.length + plan.stockFrontier.length + 1,
    );
  });
});

describe("a recording", () => {
  const step = (at: number, operation: string, lease: string) => ({ at, operation, lease });

  test("is exact to the microsecond, in order of arrival, reroutes counted once", () => {
    const steps = [
      step(1_000, "acquire", "before"),
      step(10_000, "wait", "b"),
      step(12_500, "acquire", "c"),
      step(13_000, "release", "before"),
      step(14_000, "assign", "b"),
      step(15_000, "acquire", "b"),
      step(15_500, "release", "c"),
      step(16_000, "wait", "left"),
      step(17_000, "cancel", "left"),
      step(18_001, "release", "b"),
      step(19_000, "acquire", "running"),
      step(20_000, "figures", ""),
    ];
    const arrivals = arrivalsFromLog(steps, 5_000);
    expect(arrivals).toEqual([
      { atMs: 5, serviceMs: 3.001 },
      { atMs: 7.5, serviceMs: 3 },
      { atMs: 14, serviceMs: 1 },
    ]);
    expect(parseTrace(formatTrace(arrivals))).toEqual(arrivals);
  });
});

describe("words", () => {
  test("name settings by short or full key", () => {
    expect(parseAnnotations("window=60s, cooldown=1m,x.dev/y=a=b")).toEqual({
      "autoscaling.knative.dev/window": "60s",
      "pilotlight.dev/cooldown": "1m",
      "x.dev/y": "a=b",
    });
    expect(fullKey("algorithm")).toBe("pilotlight.dev/algorithm");
  });

  test.each([
    [() => parseAnnotations("window"), /"window" is not of the form key=value/],
    [() => parseAnnotations("windo=1s"), /no setting windo/],
    [() => parseTarget("p96=2s"), /"p96=2s" is not of the form p95=2s/],
    [() => parseTarget("p95=fast"), /not of the form/],
    [() => parseTime("10", "--record"), /--record 10 is no duration/],
  ])("that are wrong are named", (read, message) => {
    expect(read).toThrow(message);
  });

  test("make a target", () => {
    expect(parseTarget("p99=1m30s")).toEqual({ quantile: "p99", limitMs: 90_000 });
  });
});

test.each(SHAPES)("the shape %s has arrivals within its length", (shape) => {
  const options = { peakRate: 2, durationMs: 300_000, serviceMs: 1_000, seed: 1 };
  const arrivals = shapeTrace(shape, options);
  expect(arrivals.length).toBeGreaterThan(20);
  expect(arrivals.at(-1)?.atMs).toBeLessThan(300_000);
  expect(shapeTrace(shape, options)).toEqual(arrivals);
});
