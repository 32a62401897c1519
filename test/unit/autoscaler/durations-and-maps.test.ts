/** Durations as Go writes them, and cluster defaults from the stock ConfigMaps. */
import { describe, expect, test } from "vitest";
import { readClusterDefaults } from "../../../autoscaler/core/settings/config-maps.ts";
import { PLATFORM_DEFAULTS, STOCK_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import { formatDuration, parseDuration } from "../../../autoscaler/core/settings/duration.ts";

describe("durations", () => {
  test.each([
    ["1h30m", 5_400_000, "1h30m0s"],
    ["90s", 90_000, "1m30s"],
    ["500ms", 500, "500ms"],
    ["1.5s", 1_500, "1.5s"],
    ["0", 0, "0s"],
    ["-2m", -120_000, "-2m0s"],
    [".5h", 1_800_000, "30m0s"],
    ["0.1s", 100, "100ms"],
    ["250us", 0.25, "250µs"],
  ])("%s is %d ms and shown as %s", (text, ms, shown) => {
    expect(parseDuration(text)).toBe(ms);
    expect(formatDuration(ms)).toBe(shown);
  });

  test.each([
    "",
    "10",
    "s",
    "1d",
    "1 s",
    "1s ",
    "1,5s",
    "0x1s",
    "1e3s",
    "NaN",
    `${"1".repeat(70)}s`,
  ])("%j is none", (text) => {
    expect(parseDuration(text)).toBeNull();
  });
});

describe("cluster defaults", () => {
  const autoscaler = (data: Record<string, string>, lastGood = PLATFORM_DEFAULTS) =>
    readClusterDefaults({ autoscaler: data }, PLATFORM_DEFAULTS, lastGood);

  test("come from the maps, over what holds without them", () => {
    const { defaults, errors } = readClusterDefaults(
      {
        autoscaler: {
          _example: "# text",
          "stable-window": "45s",
          "container-concurrency-target-percentage": "80",
          "max-scale": "6",
          "scale-down-delay": "1m",
          "enable-scale-to-zero": "false",
          "allow-zero-initial-scale": "true",
          "initial-scale": "0",
        },
        defaults: { "revision-timeout-seconds": "600", "container-concurrency": "2" },
        deployment: { "progress-deadline": "20m" },
      },
      PLATFORM_DEFAULTS,
    );
    expect(errors).toEqual([]);
    expect(defaults).toEqual({
      ...PLATFORM_DEFAULTS,
      stableWindowMs: 45_000,
      targetUtilization: 0.8,
      maxScale: 6,
      scaleDownDelayMs: 60_000,
      enableScaleToZero: false,
      allowZeroInitialScale: true,
      initialScale: 0,
      timeoutSeconds: 600,
      containerConcurrency: 2,
      progressDeadlineMs: 1_200_000,
    });
  });

  test("an empty map changes nothing", () => {
    expect(autoscaler({}).defaults).toEqual(PLATFORM_DEFAULTS);
  });

  test.each([
    [{ "stable-window": "0s" }, "stable-window"],
    [{ "stable-window": "nonsense" }, "stable-window"],
    [{ "max-scale-up-rate": "1" }, "max-scale-up-rate"],
    [{ "enable-scale-to-zero": "perhaps" }, "enable-scale-to-zero"],
    [{ "container-concurrency-target-percentage": "0" }, "container-concurrency-target-percentage"],
    [{ "target-burst-capacity": "-2" }, "target-burst-capacity"],
    [{ "scale-to-zero-grace-period": "0s" }, "scale-to-zero-grace-period"],
    [{ "activator-capacity": "0" }, "activator-capacity"],
    [{ "min-scale": "7", "max-scale": "6" }, "min-scale=7 is above max-scale=6"],
    [{ "max-scale-limit": "5" }, "expected 1 <= 10 <= 5"],
    [
      { "initial-scale": "0", "allow-zero-initial-scale": "false" },
      "initial-scale 0 needs allow-zero-initial-scale",
    ],
  ])("a faulty map leaves the last good one in force: %j", (data, named) => {
    const lastGood = { ...STOCK_DEFAULTS, maxScale: 3 };
    const { defaults, errors } = autoscaler(data, lastGood);
    expect(defaults).toBe(lastGood);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(named);
  });
});
