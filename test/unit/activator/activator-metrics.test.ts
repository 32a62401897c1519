/** Counters of a revision, and their page. */
import { describe, expect, it } from "vitest";
import { RevisionMetrics, renderMetrics } from "../../../activator/metrics.ts";

describe("renderMetrics", () => {
  it("shows cumulative buckets, counters, gauges and errors by reason", () => {
    const metrics = new RevisionMetrics("ns/rev", "svc");
    metrics.count("runs");
    metrics.observe("response", 0.25);
    metrics.observe("response", 7);
    metrics.observe("response", 1e9);
    metrics.countError("queue_full");
    metrics.countReroute("misdirected");
    const page = renderMetrics([{ metrics, waiting: 3, running: 2 }]);
    const labels = 'namespace="ns",service="svc",revision="rev"';
    expect(page).toContain(`pilotlight_run_total{${labels}} 1\n`);
    expect(page).toContain(`pilotlight_requests_waiting{${labels}} 3\n`);
    expect(page).toContain(`pilotlight_run_errors{${labels},reason="queue_full"} 1\n`);
    expect(page).toContain(`pilotlight_reroutes_total{${labels},cause="misdirected"} 1\n`);
    const series = "pilotlight_run_response_time_ms";
    expect(page).toContain(`${series}_bucket{${labels},le="0.25"} 1\n`);
    expect(page).toContain(`${series}_bucket{${labels},le="5"} 1\n`);
    expect(page).toContain(`${series}_bucket{${labels},le="10"} 2\n`);
    expect(page).toContain(`${series}_bucket{${labels},le="+Inf"} 3\n`);
    expect(page).toContain(`${series}_count{${labels}} 3\n`);
  });
  it("names each series once, however many revisions there are", () => {
    const shown = ["a", "b"].map((name) => ({
      metrics: new RevisionMetrics(`ns/${name}`, name),
      waiting: 0,
      running: 0,
    }));
    const types = renderMetrics(shown)
      .split("\n")
      .filter((line) => line.startsWith("# TYPE"));
    expect(new Set(types).size).toBe(types.length);
  });
});

describe("RevisionMetrics", () => {
  it("counts no more different words than it must", () => {
    const metrics = new RevisionMetrics("ns/rev", "svc");
    for (let n = 0; n < 1_000; n += 1) metrics.countError(`made-up-${n}`);
    expect(metrics.errors.size).toBeLessThanOrEqual(33);
  });
  it("knows the median wait of the last hundred", () => {
    const metrics = new RevisionMetrics("ns/rev", "svc");
    expect(metrics.medianWaitMs()).toBe(0);
    for (let n = 0; n < 200; n += 1) metrics.rememberWait(n < 100 ? 5_000 : n - 100);
    expect(metrics.medianWaitMs()).toBe(50);
  });
});
