/** Stock Knative's three timers, and the net under leased requests. */
import { describe, expect, it } from "vitest";
import { attemptLimits, waitLimitMs } from "../../../queue-proxy/limits.ts";

const settings = (total: number, start = 0, idle = 0) => ({
  timeoutSeconds: total,
  responseStartTimeoutSeconds: start,
  idleTimeoutSeconds: idle,
});

describe("foreign requests", () => {
  it.each([
    ["the total alone", settings(60), 0, { startMs: 0, idleMs: 0, totalMs: 60_000 }],
    ["less what was waited", settings(60, 10), 4_000, { startMs: 6_000, totalMs: 56_000 }],
    ["idle before the first byte", settings(60, 30, 5), 0, { startMs: 5_000, idleMs: 5_000 }],
    ["never off by being late", settings(60, 10), 61_000, { startMs: 1, totalMs: 1 }],
  ])("have %s", (_name, given, elapsedMs, expected) => {
    expect(attemptLimits(given, "foreign", elapsedMs)).toMatchObject(expected);
  });

  it.each([
    [settings(60), 60_000],
    [settings(60, 10, 20), 10_000],
    [settings(60, 0, 20), 20_000],
    [settings(0), 0],
  ])("wait for a slot within their shortest limit: %j", (given, expected) => {
    expect(waitLimitMs(given)).toBe(expected);
  });
});

it("leaves leased requests to the activator, with a net behind it", () => {
  expect(attemptLimits(settings(60, 10, 5), "leased", 1_000)).toMatchObject({
    startMs: 0,
    idleMs: 0,
    totalMs: 65_000,
  });
});
