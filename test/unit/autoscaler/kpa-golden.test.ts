/** The stock algorithm, row by row against values produced by the stock code itself. */
import { describe, expect, test } from "vitest";
import { activeCondition, isInitialised } from "../../../autoscaler/core/conditions.ts";
import { TimedBuckets } from "../../../autoscaler/core/kpa/buckets.ts";
import { recordDelay } from "../../../autoscaler/core/kpa/delay-window.ts";
import type { DelayEntry } from "../../../autoscaler/core/kpa/delay-window.ts";
import {
  activatorsFor,
  createKpaState,
  evaluateKpa,
  initialDecision,
} from "../../../autoscaler/core/kpa/kpa.ts";
import type { KpaState } from "../../../autoscaler/core/kpa/kpa.ts";
import { kpaParams } from "../../../autoscaler/core/kpa/params.ts";
import type { KpaParams } from "../../../autoscaler/core/kpa/params.ts";
import { scaleTarget } from "../../../autoscaler/core/kpa/scale-target.ts";
import { readClusterDefaults } from "../../../autoscaler/core/settings/config-maps.ts";
import { STOCK_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import type { ClusterDefaults } from "../../../autoscaler/core/settings/defaults.ts";
import { readSettings } from "../../../autoscaler/core/settings/settings.ts";
import type { RevisionSettings } from "../../../autoscaler/core/settings/types.ts";
import { golden, secondsOf, withPrefix } from "../../support/autoscaler-golden.ts";
import type { GoldenSeriesRow, GoldenSpec } from "../../support/autoscaler-golden.ts";

/** Unix time of t = 0 in the golden file. */
const BASE_SECONDS = 1_700_000_000;

interface Read {
  readonly settings: RevisionSettings;
  readonly defaults: ClusterDefaults;
  readonly errors: readonly string[];
}

function read(
  annotations: Record<string, string>,
  configAutoscaler: Record<string, string>,
  rest: { containerConcurrency?: number; deployment?: Record<string, string> } = {},
): Read {
  const { defaults, errors } = readClusterDefaults(
    { autoscaler: configAutoscaler, deployment: rest.deployment ?? {} },
    STOCK_DEFAULTS,
  );
  expect(errors).toEqual([]);
  const { settings, errors: faults } = readSettings(
    { annotations, containerConcurrency: rest.containerConcurrency ?? 0, requestsGpu: false },
    defaults,
  );
  return { settings, defaults, errors: faults };
}

function paramsOf(spec: GoldenSpec): KpaParams {
  return {
    ...spec,
    panicWindowSeconds: spec.panicWindowSeconds ?? 6,
    aggregation: spec.aggregation === "weighted-exponential" ? "weighted-exponential" : "linear",
  };
}

function expectClose(actual: number, expected: number | undefined): void {
  expect(expected).toBeTypeOf("number");
  const wanted = expected ?? Number.NaN;
  expect(Math.abs(actual - wanted)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(wanted)));
}

describe("parameters from annotations and cluster settings", () => {
  test.each(golden.decider)("$id $name", (row) => {
    const { settings, defaults } = read(withPrefix(row.annotations), row.configAutoscaler, row);
    const reachable = row.reachability !== "Unreachable";
    const { aggregation: _aggregation, ...params } = kpaParams(settings, defaults, reachable);
    const { expected } = row;
    for (const key of Object.keys(params) as (keyof typeof params)[]) {
      if (typeof params[key] === "number") expectClose(params[key], expected[key] as number);
      else expect(params[key], key).toEqual(expected[key]);
    }
    expect(reachable ? settings.minScale : 0).toBe(expected.minScale);
    expect(settings.maxScale).toBe(expected.maxScale);
  });
});

describe("one evaluation", () => {
  const valid = golden.scaleTick.filter((row) => row.expected.scaleValid);

  test("rows without figures or pods are the only ones left out", () => {
    const rest = golden.scaleTick.filter((row) => !row.expected.scaleValid);
    expect(rest.map((row) => row.readyPods === "error" || row.observed.noData)).toEqual([
      true,
      true,
    ]);
  });

  test.each(valid)("$id $name", (row) => {
    const state = createKpaState(1, BASE_SECONDS);
    const result = evaluateKpa(
      paramsOf(row.spec),
      {
        nowSeconds: BASE_SECONDS + 60,
        readyPods: Number(row.readyPods),
        stable: row.observed.stable ?? Number.NaN,
        panic: row.observed.panic ?? Number.NaN,
      },
      state,
    );
    expect({
      scaleValid: true,
      desiredPodCount: result.desired,
      excessBurstCapacity: result.excessBurstCapacity,
      maxPanicPods: result.state.maxPanicPods,
      panicking: result.state.panicSince !== null,
    }).toEqual(row.expected);
  });
});

describe("series of samples and evaluations", () => {
  test.each(golden.series)("$id $name", (row) => {
    const params = paramsOf(row.spec);
    const stable = new TimedBuckets(params.stableWindowSeconds);
    const panic = new TimedBuckets(params.panicWindowSeconds);
    const values = secondsOf(row);
    let state = createKpaState(row.readyAtCreation, BASE_SECONDS);
    const rows = new Map(row.ticks.map((tick) => [tick.t, tick]));
    for (let t = 1; t <= Math.max(...rows.keys()); t += 1) {
      const now = BASE_SECONDS + t;
      const value = values[t - 1] ?? null;
      if (value !== null) for (const window of [stable, panic]) window.record(now, value);
      const expected = rows.get(t);
      if (expected === undefined) continue;
      const noData = row.hasScrapeTarget && stable.isEmpty(now);
      expect(noData).toBe(expected.noData ?? false);
      if (!noData) state = compareRow(params, expected, { now, stable, panic, state });
    }
  });

  function compareRow(
    params: KpaParams,
    expected: GoldenSeriesRow,
    at: { now: number; stable: TimedBuckets; panic: TimedBuckets; state: KpaState },
  ): KpaState {
    const observed = {
      nowSeconds: at.now,
      readyPods: expected.ready,
      stable: at.stable.average(at.now, params.aggregation),
      panic: at.panic.average(at.now, params.aggregation),
    };
    expectClose(observed.stable, expected.stable);
    expectClose(observed.panic, expected.panic);
    const result = evaluateKpa(params, observed, at.state);
    expect(
      {
        desired: result.desired,
        ebc: result.excessBurstCapacity,
        panicking: result.state.panicSince !== null,
        maxPanicPods: result.state.maxPanicPods,
      },
      `t=${expected.t}`,
    ).toEqual({
      desired: expected.desired,
      ebc: expected.ebc,
      panicking: expected.panicking,
      maxPanicPods: expected.maxPanicPods,
    });
    return result.state;
  }
});

describe("before the first valid evaluation", () => {
  test.each(golden.initialDecider)("$id", ({ expected, ...row }) => {
    const { desired, excessBurstCapacity } = initialDecision(row);
    expect({ desiredScale: desired, excessBurstCapacity }).toEqual(expected);
  });
});

describe("window averages", () => {
  test.each(golden.windowAverage)("$id $name", (row) => {
    const window = new TimedBuckets(row.windowSeconds);
    for (const { t, value } of row.records) window.record(BASE_SECONDS + t, value);
    for (const query of row.queries) {
      const now = BASE_SECONDS + query.t;
      expectClose(window.average(now, row.algorithm), query.average);
      expect(window.isEmpty(now)).toBe(query.empty);
    }
  });
});

describe("scale-down delay", () => {
  test.each(golden.delayWindow)("$id $name", (row) => {
    let entries: readonly DelayEntry[] = [];
    for (const { t, value, current } of row.rows) {
      const result = recordDelay(entries, BASE_SECONDS + t, value, row.delaySeconds);
      expect(result.current, `t=${t}`).toBe(current);
      entries = result.entries;
    }
  });
});

describe("number of activators", () => {
  test.each(golden.numActivators)("$id", (row) => {
    expect(activatorsFor(row.readyPods, row)).toBe(row.expected);
  });
});

describe("Active and ScaleTargetInitialized", () => {
  test.each(golden.activeCondition)("$id $name", (row) => {
    const { settings } = read(withPrefix(row.annotations), row.configAutoscaler);
    const inputs = {
      ...settings,
      before: row.before.active,
      initialised: row.before.scaleTargetInitialized,
      want: row.want,
      ready: row.ready,
      reachable: row.reachability !== "Unreachable",
    };
    const active = activeCondition(inputs);
    const initialised = isInitialised({ ...inputs, serviceKnown: row.before.serviceName !== "" });
    expect({
      active: active.status,
      reason: active.reason,
      scaleTargetInitialized: initialised ? "True" : "Unknown",
    }).toEqual(row.expected);
  });
});

describe("what a desired count leads to", () => {
  test.each(golden.scaleTarget)("$id $name", (row) => {
    const { settings, defaults } = read(row.annotations, row.configAutoscaler, {
      deployment: row.configDeployment,
    });
    const action = scaleTarget({
      ...settings,
      desired: row.deciderDesired,
      currentReplicas: row.currentReplicas,
      reachable: row.reachability !== "Unreachable",
      initialised: row.scaleTargetInitialized,
      active: { status: row.active.status, seconds: row.active.secondsInStatus },
      proxiedSeconds: row.sks.proxySeconds,
      proxyMode: row.sks.mode === "Proxy",
      alwaysProxied: settings.targetBurstCapacity === -1,
      activatorAnswers: row.activatorProbe === "ok",
      enableScaleToZero: defaults.enableScaleToZero,
      stableWindowSeconds: settings.windowMs / 1_000,
      progressDeadlineSeconds: settings.progressDeadlineMs / 1_000,
      graceSeconds: defaults.scaleToZeroGraceMs / 1_000,
      retentionSeconds: settings.lastPodRetentionMs / 1_000,
    });
    expect({
      want: action.want,
      patchReplicas: action.patchReplicas,
      requeueAfterSeconds: action.requeueAfterSeconds === null ? [] : [action.requeueAfterSeconds],
      syncProbes: action.probed ? 1 : 0,
      asyncProbes: action.probeLater ? 1 : 0,
    }).toEqual(row.expected);
  });
});
