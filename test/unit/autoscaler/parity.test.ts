/**
 * Ours against stock on traces made from the golden series: at equal settings, ours reaches the
 * count at which stock settles no later than stock does.
 */
import { describe, expect, test } from "vitest";
import { decide } from "../../../autoscaler/core/decision.ts";
import { TimedBuckets } from "../../../autoscaler/core/kpa/buckets.ts";
import { createKpaState, evaluateKpa } from "../../../autoscaler/core/kpa/kpa.ts";
import { kpaParams } from "../../../autoscaler/core/kpa/params.ts";
import { readClusterDefaults } from "../../../autoscaler/core/settings/config-maps.ts";
import { STOCK_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import type { ClusterDefaults } from "../../../autoscaler/core/settings/defaults.ts";
import { readSettings } from "../../../autoscaler/core/settings/settings.ts";
import type { RevisionSettings } from "../../../autoscaler/core/settings/types.ts";
import { golden, secondsOf, withPrefix } from "../../support/autoscaler-golden.ts";
import type { GoldenSeries } from "../../support/autoscaler-golden.ts";
import {
  BASE_MS,
  LoadFeed,
  decisionInputs,
  initialisedState,
  readyPods,
} from "../../support/autoscaler-decisions.ts";

/** Counts at even seconds, `[t, pods]`. */
type Track = readonly (readonly [t: number, pods: number])[];

interface Trace {
  readonly series: GoldenSeries;
  readonly settings: RevisionSettings;
  readonly defaults: ClusterDefaults;
  readonly values: readonly (number | null)[];
}

function traceOf(series: GoldenSeries): Trace {
  const { defaults } = readClusterDefaults({ autoscaler: series.configAutoscaler }, STOCK_DEFAULTS);
  const { settings, errors } = readSettings(
    {
      annotations: withPrefix(series.annotations),
      containerConcurrency: series.containerConcurrency,
      requestsGpu: false,
    },
    defaults,
  );
  expect(errors).toEqual([]);
  return { series, settings, defaults, values: secondsOf(series) };
}

/** Stock, not started in panic, with our rounding: 2.1 / 0.7 is 3. */
function stockTrack({ series, settings, defaults, values }: Trace): Track {
  const params = kpaParams(settings, defaults, series.reachability !== "Unreachable");
  const stable = new TimedBuckets(params.stableWindowSeconds);
  const panic = new TimedBuckets(params.panicWindowSeconds);
  let state = createKpaState(Math.min(1, series.readyAtCreation), 0);
  let desired = series.readyAtCreation;
  const track: [number, number][] = [];
  const noise = 1e-9 * params.targetValue;
  const rows = new Map(series.ticks.map((row) => [row.t, row]));
  for (let t = 1; t <= values.length; t += 1) {
    const value = values[t - 1] ?? null;
    if (value !== null) for (const window of [stable, panic]) window.record(t, value);
    const row = rows.get(t);
    if (row === undefined) continue;
    if (!(series.hasScrapeTarget && stable.isEmpty(t))) {
      const observed = {
        nowSeconds: t,
        readyPods: row.ready,
        stable: stable.average(t, params.aggregation) - noise,
        panic: panic.average(t, params.aggregation) - noise,
      };
      const result = evaluateKpa(params, observed, state);
      state = result.state;
      desired = Math.max(0, result.desired);
    }
    track.push([t, desired]);
  }
  return track;
}

/** Ours, over the same load as exact totals: a second in which nothing was recorded had none. */
function pilotTrack({ series, settings, defaults, values }: Trace): Track {
  const feed = new LoadFeed(settings.windowMs);
  let state = initialisedState();
  const track: [number, number][] = [];
  const rows = new Map(series.ticks.map((row) => [row.t, row]));
  for (let t = 1; t <= values.length; t += 1) {
    const value = values[t - 1] ?? 0;
    if (settings.metric === "rps") feed.run(1, 0, value);
    else feed.run(1, value);
    const row = rows.get(t);
    if (row === undefined) continue;
    const decision = decide(
      decisionInputs({
        settings,
        defaults,
        reachable: series.reachability !== "Unreachable",
        history: feed.history,
        nowMs: BASE_MS + t * 1_000,
        readyPods: row.ready,
        pods: readyPods(row.ready),
        // The count before bounds is compared, as in the golden rows: nothing is held back.
        currentReplicas: 0,
        state,
      }),
    );
    state = decision.state;
    track.push([t, decision.replicas]);
  }
  return track;
}

/** First tick from which the count stays what it is at the end. */
function settledAt(track: Track): readonly [t: number, pods: number] {
  const final = track.at(-1)?.[1] ?? 0;
  const lastOther = track.findLastIndex(([, pods]) => pods !== final);
  return [track[lastOther + 1]?.[0] ?? Number.NaN, final];
}

/** The trace up to the end of each stretch of constant load: stock settles for each. */
function stretches(trace: Trace): readonly Trace[] {
  let end = 0;
  return trace.series.samples.map(({ seconds }) => {
    end += seconds;
    return { ...trace, values: trace.values.slice(0, end) };
  });
}

describe("never later than stock", () => {
  const rows = golden.series.filter((series) => series.id !== "series-19");

  test.each(rows)("$id $name", (series) => {
    for (const trace of stretches(traceOf(series))) {
      const stock = stockTrack(trace);
      const pilot = pilotTrack(trace);
      if (stock.length === 0) continue;
      const [at, pods] = settledAt(stock);
      const reached = pilot.find(([, count]) => count === pods)?.[0] ?? Number.POSITIVE_INFINITY;
      expect(reached, `${pods} pods, stock at ${at}: ${JSON.stringify(pilot)}`).toBeLessThanOrEqual(
        at,
      );
    }
  });
});
