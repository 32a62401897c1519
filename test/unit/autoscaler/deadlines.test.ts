/** Waiting requests count in time for a start before the objective. */
import { expect, test } from "vitest";
import { withDeadlines } from "../../../autoscaler/core/deadlines.ts";
import { settingsOf } from "../../support/autoscaler-decisions.ts";

test.each([
  ["no objective: the delay as it is", {}, 10_000, 1_000],
  ["start unknown: the delay as it is", { slo: "2s" }, 0, 1_000],
  ["a start still fits later: the delay as it is", { slo: "30s" }, 10_000, 1_000],
  ["half a second to spare: half a second", { slo: "10.5s" }, 10_000, 500],
  ["too late already: at once", { slo: "5s" }, 10_000, 0],
  [
    "a long delay gives way to the objective",
    { slo: "12s", "scale-up-delay": "20s" },
    10_000,
    2_000,
  ],
])("%s", (_name, annotations: Record<string, string>, startTimeMs, delayMs) => {
  const settings = settingsOf(annotations);
  expect(withDeadlines(settings, startTimeMs).scaleUpDelayMs).toBe(delayMs);
});
