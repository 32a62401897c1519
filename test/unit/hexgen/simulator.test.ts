/** What the simulator does beyond the golden runs: realism, mixing, tuning, pictures. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  drawTenants,
  select,
  withSingleCalls,
} from "../../../autoscaler/simulator/hexgen/mixing.ts";
import { PrefixCache } from "../../../autoscaler/simulator/hexgen/prefix-memory.ts";
import { coldStart } from "../../../autoscaler/simulator/hexgen/realism.ts";
import type { RealismOptions } from "../../../autoscaler/simulator/hexgen/realism.ts";
import type { Scenario } from "../../../autoscaler/simulator/hexgen/scenario.ts";
import { burstyArrivalsUs, seededArrivals } from "../../../autoscaler/simulator/hexgen/scenario.ts";
import { simulate } from "../../../autoscaler/simulator/hexgen/simulate.ts";
import { percentile, summarize } from "../../../autoscaler/simulator/hexgen/summary.ts";
import {
  BENCHMARK_POOL,
  createPool,
  TEXT2SQL,
} from "../../../autoscaler/simulator/hexgen/text2sql.ts";
import { tuneAlpha } from "../../../autoscaler/simulator/hexgen/tune-alpha.ts";
import { parseTrace } from "../../../autoscaler/simulator/hexgen/workload.ts";
import { barChart, lineChart } from "../../../bench/hexgen/svg.ts";
import { createRandom } from "../../../common/random.ts";

const workflows = parseTrace(
  readFileSync(new URL("../../fixtures/text2sql/synth-trace1.csv", import.meta.url), "utf8"),
);

function scenario(change: Partial<Scenario> = {}): Scenario {
  return {
    workflowClass: TEXT2SQL,
    workflows,
    pool: createPool(BENCHMARK_POOL),
    policy: { dispatch: "batch", alpha: 0.3, order: "urgency", admission: "backfill" },
    prefixReuse: "off",
    ...seededArrivals(1, 0.5, workflows.length, [15]),
    ...change,
  };
}

const chunked = { stepTokens: 512, largestBatch: 64, overlap: 1 };

describe("simulator", () => {
  it("reads the trace as described", () => {
    expect(workflows).toHaveLength(90);
    expect(() => parseTrace("workflow_id,stage\n0,0\n")).toThrow(/arrival_u/);
  });

  it.each<[string, Partial<Scenario>]>([
    ["as the reference", {}],
    ["with estimates off", { realism: { seed: 1, estimateSigma: 1 } }],
    ["with estimates off as seen", { realism: { seed: 1, estimateResiduals: [0.5, 1, 3] } }],
    ["with late dispatch", { realism: { seed: 1, dispatchLatencyMs: [5, 50] } }],
    [
      "with stealing and a lost card",
      {
        policy: { dispatch: "batch", alpha: 0.3, order: "urgency", variant: "stealing" },
        realism: { seed: 1, outages: [{ card: 1, fromS: 50, untilS: 200 }] },
      },
    ],
    ["with tool time", { realism: { seed: 1, toolTimeMs: 1_000 } }],
    ["with stragglers", { realism: { seed: 1, stragglers: { share: 0.05, factor: 4 } } }],
    [
      "in chunks, cache evicting",
      { realism: { seed: 1, engine: chunked }, prefixReuse: "evicting" },
    ],
    ["with a lost card", { realism: { seed: 1, outages: [{ card: 1, fromS: 50, untilS: 200 }] } }],
    [
      "with a card gone for good",
      { realism: { seed: 1, outages: [{ card: 0, fromS: 9, untilS: Infinity }] } },
    ],
    [
      "in chunks with a lost card",
      { realism: { seed: 1, engine: chunked, outages: [{ card: 0, fromS: 50, untilS: 200 }] } },
    ],
  ])("answers every workflow, and twice the same, %s", (_name, change) => {
    const first = simulate(scenario(change));
    expect([...first.latenciesUs].every((latency) => latency > 0)).toBe(true);
    expect(simulate(scenario(change))).toEqual(first);
  });

  it("starts nothing before the pool is up", () => {
    const firstEndUs = (weightsS: number): number => {
      const parts = { imageS: 20, weightsS, warmUpS: 10 };
      const outages = BENCHMARK_POOL.map((_, card) => coldStart(card, 0, parts));
      const { latenciesUs, arrivalsUs } = simulate(scenario({ realism: { seed: 1, outages } }));
      return Math.min(...latenciesUs.map((latency, index) => latency + (arrivalsUs[index] ?? 0)));
    };
    expect(firstEndUs(0)).toBeGreaterThan(30e6);
    expect(firstEndUs(60)).toBeGreaterThan(firstEndUs(0) + 30e6);
  });

  it("serves faster when prompts are reused, slower when steps grow with the batch", () => {
    const plain = summarize(simulate(scenario())).p95S;
    const reused = summarize(simulate(scenario({ prefixReuse: "unbounded" }))).p95S;
    const steep = summarize(simulate(scenario({ pool: createPool(BENCHMARK_POOL, 0.05) }))).p95S;
    expect(reused).toBeLessThan(0.6 * plain);
    expect(steep).toBeGreaterThan(plain);
  });

  it("makes up for round robin where cards steal, and has nobody to take from alone", () => {
    const policy = { dispatch: "rr", alpha: 0, order: "fifo" } as const;
    const steals = { ...policy, variant: "stealing" } as const;
    const bound = summarize(simulate(scenario({ policy })));
    const moved = summarize(simulate(scenario({ policy: steals })));
    expect(moved.p95S).toBeLessThan(0.8 * bound.p95S);
    expect(moved.throughputPerS).toBeGreaterThan(1.25 * bound.throughputPerS);
    const alone = { pool: createPool(["A100"]), policy };
    expect(simulate(scenario({ ...alone, policy: steals }))).toEqual(simulate(scenario(alone)));
  });

  it("preempts instead of stopping when answers outgrow the cache", () => {
    const realism: RealismOptions = {
      seed: 1,
      engine: chunked,
      stragglers: { share: 0.2, factor: 8 },
    };
    const pool = createPool(BENCHMARK_POOL).map((card) => ({ ...card, kvTokens: 20_000 }));
    const few = { workflows: workflows.slice(0, 12), ...seededArrivals(1, 0.5, 12, [15]) };
    const result = simulate(scenario({ realism, pool, ...few }));
    expect([...result.latenciesUs].every((latency) => latency > 0)).toBe(true);
  });

  it("runs a hundred workflows in well under a second", () => {
    const before = process.cpuUsage();
    simulate(scenario());
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(0.5);
  });
});

describe("mixing", () => {
  it("tells the trace from the calls beside it", () => {
    const calls = {
      stage: "chat",
      inputTokens: 900,
      outputTokens: 220,
      ratePerS: 0.2,
      untilUs: 300e6,
      sloScale: 1,
    };
    const mixed = withSingleCalls(scenario(), calls, createRandom(5));
    const result = simulate(mixed.scenario);
    expect(mixed.isTraced.filter(Boolean)).toHaveLength(90);
    const own = select(result, (index) => mixed.isTraced[index] ?? false);
    const beside = select(result, (index) => !(mixed.isTraced[index] ?? false));
    expect(own.latenciesUs).toHaveLength(90);
    expect(beside.latenciesUs).toHaveLength(60);
    expect(summarize(own).p95S).toBeGreaterThan(summarize(simulate(scenario())).p95S * 0.98);
  });

  it("draws tenants of unequal size and arrivals in bursts", () => {
    const tenants = drawTenants(createRandom(1), 3, 3_000);
    const largest = tenants.filter((tenant) => tenant === "tenant-1").length;
    expect(largest / tenants.length).toBeCloseTo(6 / 11, 1);
    const arrivals = burstyArrivalsUs(3, 0.5, 20_000, 3);
    const gaps = arrivals.map((arrival, index) => (arrival - (arrivals[index - 1] ?? 0)) / 1e6);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    expect(mean).toBeGreaterThan(1.8);
    expect(mean).toBeLessThan(2.2);
    expect(Math.sqrt(variance) / mean).toBeGreaterThan(2.6);
    expect(Math.sqrt(variance) / mean).toBeLessThan(3.4);
  });
});

describe("prefix cache", () => {
  it("serves more where dispatch knows what cards hold", () => {
    const realism = { seed: 1, engine: { stepTokens: 512, largestBatch: 64, overlap: 1 } };
    const [p95S, p95BlindS] = [{}, { variant: "prefix-blind" } as const].map((change) => {
      const policy = { dispatch: "wb", alpha: 0.3, order: "urgency", ...change } as const;
      const pool = createPool(BENCHMARK_POOL, 0.02);
      return summarize(simulate(scenario({ pool, policy, prefixReuse: "evicting", realism }))).p95S;
    });
    expect(p95S).toBeLessThan(0.95 * (p95BlindS ?? 0));
  });

  const facts = { inputTokens: 320, outputTokens: 5, sharedPrefixTokens: 160, isChained: true };
  const prompt = (workflow: number) => ({ workflow, stageIndex: 0, inputTokens: 320 });

  it("shares what was computed, keeps a chain for its own workflow", () => {
    const cache = new PrefixCache();
    expect(cache.cachedTokens(facts, prompt(1))).toBe(0);
    cache.reached(facts, prompt(1), "prefilled");
    cache.reached(facts, prompt(1), "ended");
    expect(cache.cachedTokens(facts, prompt(1))).toBe(304);
    expect(cache.cachedTokens(facts, prompt(2))).toBe(160);
  });

  it("drops the longest unused, never what a running call reads", () => {
    const cache = new PrefixCache();
    cache.reached(facts, prompt(1), "prefilled");
    const reader = prompt(2);
    cache.prefillStarted(facts, reader);
    cache.reached(facts, prompt(1), "ended");
    cache.shrinkTo(100);
    expect(cache.pinnedTokens).toBe(160);
    expect(cache.cachedTokens(facts, prompt(1))).toBe(160);
    cache.reached({ ...facts, isChained: false }, reader, "ended");
    cache.shrinkTo(100);
    expect(cache.pinnedTokens).toBe(0);
    expect(cache.cachedTokens(facts, prompt(1))).toBe(0);
  });
});

describe("summary", () => {
  it("takes the element at the percentile by whole numbers", () => {
    const sorted = Array.from({ length: 96 }, (_, index) => index);
    expect(percentile(sorted, 50)).toBe(48);
    expect(percentile(sorted, 95)).toBe(91);
    expect(percentile([7], 95)).toBe(7);
  });
});

describe("alpha tuner", () => {
  const { arrivalsUs, sloScales } = seededArrivals(1, 0.1, workflows.length, [15]);
  const recorded = workflows.map((workflow, index) => ({
    ...workflow,
    arrivedAtUs: arrivalsUs[index] ?? 0,
    sloScale: sloScales[index] ?? 1,
  }));
  const input = {
    workflowClass: TEXT2SQL,
    recorded,
    pool: createPool(BENCHMARK_POOL),
    policy: { dispatch: "wb", order: "urgency" } as const,
    prefixReuse: "off" as const,
  };

  it("leaves a bad setting, tries around the best, and costs little", () => {
    const before = process.cpuUsage();
    const tuned = tuneAlpha({ ...input, currentAlpha: 0.9 });
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3);
    expect(tuned.alpha).toBeLessThanOrEqual(0.6);
    expect(tuned.predictions.length).toBeGreaterThanOrEqual(9);
    const current = tuned.predictions.find(({ alpha }) => alpha === 0.9);
    expect(tuned.predictedTail).toBeLessThan((current?.tail ?? 0) * 0.98);
  });

  it("resamples a short window", () => {
    const tuned = tuneAlpha({ ...input, recorded: recorded.slice(0, 12), currentAlpha: 0.3 });
    expect(Number.isFinite(tuned.predictedTail)).toBe(true);
  });
});

describe("charts", () => {
  it("draws every series and bar inside the frame", () => {
    const lines = lineChart({
      title: "t",
      xLabel: "x",
      yLabel: "y < 1 & more",
      series: [
        {
          name: "one",
          points: [
            [0, 0],
            [10, 0.5],
          ],
        },
      ],
    });
    expect(lines).toContain('points="64.0,348.0 530.0,44.0"');
    expect(lines).toContain("y &lt; 1 &amp; more");
    const bars = barChart({
      title: "t",
      yLabel: "ratio",
      groups: ["a", "b"],
      bars: [{ name: "one", values: [1, 2] }],
      mark: { name: "goal", value: 1.81 },
    });
    expect(bars.match(/<rect x=/g)).toHaveLength(3);
    expect(bars).toContain("goal");
  });
});
