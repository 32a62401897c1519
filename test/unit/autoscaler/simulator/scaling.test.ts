/** The scaling simulator: repeats itself, conserves time and requests, and shows known effects. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { PLATFORM_DEFAULTS } from "../../../../autoscaler/core/settings/defaults.ts";
import {
  compareSettings,
  comparisonTable,
} from "../../../../autoscaler/simulator/scaling/compare.ts";
import { EventQueue } from "../../../../autoscaler/simulator/scaling/event-queue.ts";
import { simulateScaling } from "../../../../autoscaler/simulator/scaling/simulate.ts";
import {
  TRACE_RATES,
  makeTrace,
  parseTrace,
} from "../../../../autoscaler/simulator/scaling/traces.ts";
import type {
  ScalingResult,
  ScalingScenario,
} from "../../../../autoscaler/simulator/scaling/types.ts";
import { createRandom } from "../../../../common/random.ts";
import { fullKeys, settingsOf } from "../../../support/autoscaler-decisions.ts";

const START_TIMES_MS = [8_000, 9_000, 12_000, 20_000];

function scenario(
  short: Record<string, string> = {},
  changes: Partial<ScalingScenario> = {},
): ScalingScenario {
  return {
    settings: settingsOf({ "max-scale": "0", ...short }),
    defaults: PLATFORM_DEFAULTS,
    arrivals: makeTrace({
      seed: 3,
      durationMs: 600_000,
      serviceMs: 2_000,
      peakRate: 3,
      rateAt: TRACE_RATES.onOff(3, 60_000, 120_000),
    }),
    startTimesMs: START_TIMES_MS,
    seed: 5,
    horizonMs: 1_200_000,
    ...changes,
  };
}

const digest = (result: ScalingResult): string =>
  createHash("sha256").update(JSON.stringify(result)).digest("hex");

describe("a simulation", () => {
  test.each([{}, { algorithm: "kpa" }])("repeats itself to the byte with %j", (short) => {
    const [first, again] = [simulateScaling(scenario(short)), simulateScaling(scenario(short))];
    expect(digest(again)).toBe(digest(first));
    expect(digest(simulateScaling(scenario(short, { seed: 6 })))).not.toBe(digest(first));
  });

  test("serves all requests, and pod time is the sum of its parts", () => {
    const given = scenario();
    const result = simulateScaling(given);
    expect(result).toMatchObject({ requests: given.arrivals.length, unserved: 0 });
    const { total, starting, used, idle } = result.podSeconds;
    expect(total).toBeCloseTo(starting + used + idle, 6);
    // One request per pod: the time used is the work itself.
    const work = given.arrivals.reduce((sum, arrival) => sum + arrival.serviceMs, 0) / 1_000;
    expect(used).toBeCloseTo(work, 6);
  });

  test("three requests at zero are three pods at once, 10 ms later", () => {
    const arrivals = [0, 1, 2].map((atMs) => ({ atMs, serviceMs: 1_000 }));
    const result = simulateScaling(scenario({}, { arrivals, startTimesMs: [8_000] }));
    expect(result.scale[0]).toEqual([10, 3]);
    expect(result).toMatchObject({ coldStarts: 3, podStarts: 3, peakPods: 3 });
    expect(result.waitMs.max).toBe(8_010);
  });

  test("pods leave a window and a cooldown after the last request", () => {
    const arrivals = [{ atMs: 0, serviceMs: 1_000 }];
    const result = simulateScaling(
      scenario({ window: "30s", cooldown: "60s" }, { arrivals, startTimesMs: [2_000] }),
    );
    const [zeroAt, pods] = result.scale.at(-1) ?? [];
    expect(pods).toBe(0);
    expect(zeroAt).toBeGreaterThan(3_010 + 60_000);
    expect(zeroAt).toBeLessThanOrEqual(3_010 + 30_000 + 60_000 + 4_000);
  });

  describe("R11 the buffer keeps one pod warm", () => {
    // One request every 12 s for a minute each, a start takes 8 s: five run side by side.
    const arrivals = Array.from({ length: 20 }, (_, index) => ({
      atMs: 20_000 + index * 12_000,
      serviceMs: 60_000,
    }));
    const given = { arrivals, startTimesMs: [8_000], initialPods: 1 };
    const always = { "scaling-buffer": "1", "scaling-buffer-mode": "always" };

    // Also where the work runs longer than the window, whose mean then lags behind.
    test.each(["6s", "30s", "300s"])("no arrival waits for a start, window %s", (window) => {
      const result = simulateScaling(scenario({ ...always, window }, given));
      expect(result).toMatchObject({ requests: 20, coldStarts: 0, unserved: 0 });
      expect(result.waitMs.max).toBe(0);
      expect(result.peakPods).toBe(6);
    });

    test("without it they do", () => {
      const result = simulateScaling(scenario({}, given));
      expect(result.waitMs.max).toBeGreaterThan(8_000);
    });
  });

  test("a pod that leaves while it works ends its work first", () => {
    const arrivals = [
      { atMs: 0, serviceMs: 100 },
      { atMs: 10, serviceMs: 40_000 },
    ];
    const result = simulateScaling(
      scenario({ "max-scale": "1", cooldown: "0s", window: "6s" }, { arrivals, initialPods: 2 }),
    );
    expect(result.unserved).toBe(0);
    expect(result.podSeconds.used).toBeCloseTo(40.1, 6);
  });
});

describe("a comparison", () => {
  const keys = (short: Record<string, string>): Record<string, string> =>
    fullKeys({ "max-scale": "0", ...short });
  const base = scenario();

  const rows = compareSettings({
    ...base,
    variants: [
      { name: "ours", annotations: keys({}) },
      { name: "kpa", annotations: keys({ algorithm: "kpa" }) },
      {
        name: "buffer 3 always",
        annotations: keys({ "scaling-buffer": "3", "scaling-buffer-mode": "always" }),
      },
      { name: "cooldown 5m", annotations: keys({ cooldown: "5m" }) },
    ],
  });
  const row = (name: string): ScalingResult => {
    const found = rows.find((candidate) => candidate.name === name);
    if (found === undefined) throw new Error(`no row ${name}`);
    return found.result;
  };

  test("shows that a buffer and a cooldown buy waiting with idle GPUs", () => {
    const ours = row("ours");
    for (const name of ["buffer 3 always", "cooldown 5m"]) {
      expect(row(name).coldStarts, name).toBeLessThan(ours.coldStarts);
      expect(row(name).podSeconds.idle, name).toBeGreaterThan(ours.podSeconds.idle);
    }
    for (const name of ["ours", "kpa"]) expect(row(name).unserved, name).toBe(0);
  });

  test("prints as a table with a line per variant", () => {
    const table = comparisonTable(rows).trimEnd().split("\n");
    expect(table).toHaveLength(5);
    expect(table[0]).toMatch(/^settings +cold +wait p50 ms/);
    expect(new Set(table.map((line) => line.length)).size).toBe(1);
  });

  test("refuses a variant with faulty settings", () => {
    const variants = [{ name: "odd", annotations: keys({ window: "1s" }) }];
    expect(() => compareSettings({ ...base, variants })).toThrow(/odd:\nexpected 6s <= 1s/);
  });
});

describe("traces", () => {
  test("come from their seed, in order, with about the rate asked for", () => {
    const shape = {
      seed: 1,
      durationMs: 1_000_000,
      serviceMs: 100,
      peakRate: 2,
      rateAt: TRACE_RATES.wave(2, 100_000),
    };
    const trace = makeTrace(shape);
    expect(makeTrace(shape)).toEqual(trace);
    expect(trace.length).toBeGreaterThan(900);
    expect(trace.length).toBeLessThan(1_100);
    const times = trace.map((arrival) => arrival.atMs);
    expect(times.toSorted((left, right) => left - right)).toEqual(times);
  });

  test("are read from lines, and a bad line is named", () => {
    expect(parseTrace("atMs,serviceMs\n20,5\n10,7.5\n\n")).toEqual([
      { atMs: 10, serviceMs: 7.5 },
      { atMs: 20, serviceMs: 5 },
    ]);
    expect(() => parseTrace("1,2\nx,3")).toThrow(/Line 2 of the trace is "x,3"/);
    expect(() => parseTrace("-1,2")).toThrow(/Line 1/);
  });
});

describe("the event queue", () => {
  test("gives events by time, those of one instant by entry", () => {
    const random = createRandom(9);
    const queue = new EventQueue<number>();
    const entered = Array.from({ length: 2_000 }, (_, index) => [Math.floor(random() * 50), index]);
    for (const [atMs = 0, index = 0] of entered) queue.add(atMs, index);
    const expected = entered.toSorted(
      ([left = 0, one = 0], [right = 0, other = 0]) => left - right || one - other,
    );
    const seen: number[][] = [];
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      seen.push([next.atMs, next.event]);
    }
    expect(seen).toEqual(expected);
  });
});
