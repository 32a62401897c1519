/** The metrics page: names, numbers, bounds. */
import { expect, it } from "vitest";
import { RequestMetrics } from "../../../queue-proxy/metrics.ts";

const GAUGES = { open: 1, waiting: 2, occupied: 0, capacity: 1, isReady: true, boot: 5 };

it("sorts durations into stock's buckets", () => {
  const metrics = new RequestMetrics();
  for (const seconds of [0.004, 0.005, 0.3, 60]) metrics.observe(200, seconds);
  const page = metrics.render(GAUGES);
  const bucket = (le: string) =>
    `kn_serving_invocation_duration_seconds_bucket{http_response_status_code="200",le="${le}"}`;
  expect(page).toContain(`${bucket("0.005")} 2\n`);
  expect(page).toContain(`${bucket("0.5")} 3\n`);
  expect(page).toContain(`${bucket("10")} 3\n`);
  expect(page).toContain(`${bucket("+Inf")} 4\n`);
  expect(page).toMatch(/_sum\{http_response_status_code="200"\} 60\.309/);
});

it("leaves the queue depth out where nothing is limited", () => {
  const metrics = new RequestMetrics();
  metrics.sampleDepth(3);
  expect(metrics.render(GAUGES)).toContain("kn_serving_queue_depth 3\n");
  expect(metrics.render({ ...GAUGES, capacity: 0 })).not.toContain("queue_depth");
});

it("does not grow with the statuses a container invents", () => {
  const metrics = new RequestMetrics();
  for (let status = 200; status < 1_000; status += 1) metrics.observe(status, 0.001);
  const lines = metrics.render(GAUGES).split("\n");
  const counts = lines.filter((line) =>
    line.startsWith("kn_serving_invocation_duration_seconds_count"),
  );
  expect(counts.length).toBeLessThanOrEqual(65);
  expect(counts.map((line) => Number(line.split(" ")[1])).reduce((a, b) => a + b)).toBe(800);
});
