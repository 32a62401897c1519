/** Every key of a revision: a good value and what becomes of it, a bad one and the exact text. */
import { describe, expect, test } from "vitest";
import { PLATFORM_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import { readSettings } from "../../../autoscaler/core/settings/settings.ts";
import { toRevisionConfig } from "../../../autoscaler/core/settings/revision-config.ts";
import type {
  RevisionSettings,
  SettingsInput,
  SettingsResult,
} from "../../../autoscaler/core/settings/types.ts";
import { NOT_IN_EFFECT_YET, nearestName } from "../../../autoscaler/core/settings/warnings.ts";
import { OWN_KEYS, STOCK_KEYS } from "../../../common/contracts/annotations.ts";

const A = "autoscaling.knative.dev";
const P = "pilotlight.dev";
const CARDS = { L40S: "nvidia", H100: "nvidia", A10: "nvidia", T4: "nvidia", Trn1: "neuron" };

function read(
  annotations: Record<string, string>,
  rest: Partial<SettingsInput> = {},
): SettingsResult {
  return readSettings({ annotations, requestsGpu: true, ...rest }, PLATFORM_DEFAULTS);
}

const known = { knownCards: CARDS, knownRegions: ["eu-1", "us-1"] };

describe("good values", () => {
  const rows: readonly [key: string, text: string, Partial<RevisionSettings>][] = [
    [`${A}/min-scale`, "2", { minScale: 2 }],
    [`${A}/minScale`, "2", { minScale: 2 }],
    [`${A}/max-scale`, "0", { maxScale: 0 }],
    [`${A}/initial-scale`, "5", { initialScale: 5 }],
    [`${A}/activation-scale`, "3", { activationScale: 3 }],
    [`${A}/scale-down-delay`, "1h", { scaleDownDelayMs: 3_600_000, cooldownMs: 3_600_000 }],
    [`${P}/cooldown`, "24h", { cooldownMs: 86_400_000, scaleDownDelayMs: 10_000 }],
    [`${A}/metric`, "rps", { metric: "rps" }],
    [`${A}/metric`, "", { metric: "concurrency" }],
    [`${A}/target`, "0.01", { target: 0.01 }],
    [`${A}/target-utilization-percentage`, "70", { targetUtilization: 0.7 }],
    [`${A}/target-burst-capacity`, "-1", { targetBurstCapacity: -1 }],
    [`${A}/window`, "6s", { windowMs: 6_000 }],
    [`${A}/panic-window-percentage`, "20", { panicWindowRatio: 0.2 }],
    [`${A}/panic-threshold-percentage`, "150", { panicThreshold: 1.5 }],
    [
      `${A}/metric-aggregation-algorithm`,
      "weightedExponential",
      { aggregation: "weighted-exponential" },
    ],
    [`${A}/scale-to-zero-pod-retention-period`, "1m30s", { lastPodRetentionMs: 90_000 }],
    [`${P}/scaling-buffer`, "3", { buffer: { kind: "pods", pods: 3 } }],
    [`${P}/scaling-buffer`, "25%", { buffer: { kind: "ratio", ratio: 0.25 } }],
    [`${P}/scaling-buffer`, "500%", { buffer: { kind: "ratio", ratio: 5 } }],
    [`${P}/scaling-buffer-mode`, "always", { bufferMode: "always" }],
    [`${P}/load-balancing`, "speed-aware", { loadBalancing: "speed-aware" }],
    [`${P}/load-balancing`, "least-connections", { loadBalancing: "min-connections" }],
    [`${P}/load-balancing`, "", { loadBalancing: "first-available" }],
    [`${P}/compute-tier`, "protected", { computeTier: "protected" }],
    [`${P}/gpu-preference`, "L40S, H100", { gpuPreference: ["L40S", "H100"] }],
    [`${P}/regions`, "eu-1,us-1", { regions: ["eu-1", "us-1"] }],
    [`${P}/regions`, "global", { regions: ["global"] }],
    [`${P}/auth`, "jwt", { auth: "jwt" }],
    [`${P}/queue-depth`, "0", { queueDepth: 0 }],
    [`${P}/queue-timeout`, "90s", { queueTimeoutMs: 90_000 }],
    [`${P}/queue-timeout`, "0s", { queueTimeoutMs: 900_000 }],
    [`${P}/activation-timeout`, "1h", { activationTimeoutMs: 3_600_000 }],
    [`${P}/scale-up-delay`, "500ms", { scaleUpDelayMs: 500 }],
    [`${P}/service-min-scale`, "4", { serviceMinScale: 4 }],
    [`${P}/retry`, "idempotent", { retry: "idempotent" }],
    [`${P}/quarantine-period`, "100ms", { quarantinePeriodMs: 100 }],
    [`${P}/quarantine-max`, "1h", { quarantineMaxMs: 3_600_000 }],
    [`${P}/quarantine-action`, "drop", { quarantineAction: "drop" }],
    [`${P}/flap-threshold`, "100", { flapThreshold: 100 }],
    [`${P}/session-affinity`, "soft", { sessionAffinity: "soft" }],
    [`${P}/async`, "enabled", { async: "enabled" }],
    [`${P}/async-max-duration`, "12h", { asyncMaxDurationMs: 43_200_000 }],
    [
      `${P}/webhook-hosts`,
      "*, *.example.com, api.example.com:8443",
      { webhookHosts: ["*", "*.example.com", "api.example.com:8443"] },
    ],
    [`${P}/algorithm`, "kpa", { algorithm: "kpa" }],
    [`${P}/local-command`, "node server.mjs", { localCommand: "node server.mjs" }],
    [`${P}/slo`, "2m", { sloMs: 120_000, queueOrder: "urgency" }],
    [
      `${P}/stages`,
      "plan=1.5s, write=20s",
      {
        stages: [
          { name: "plan", durationMs: 1_500 },
          { name: "write", durationMs: 20_000 },
        ],
      },
    ],
    [`${P}/alpha`, "0.3", { alpha: 0.3 }],
    [`${P}/alpha`, "auto", { alpha: "auto" }],
    [`${P}/binding`, "early", { binding: "early", localQueue: 10 }],
    [`${P}/queue-order`, "llf_wf", { queueOrder: "urgency" }],
    [`${P}/queue-order`, "wfifo", { queueOrder: "wfifo" }],
    [`${P}/starvation-limit`, "1h", { starvationLimitMs: 3_600_000 }],
    [`${P}/local-queue`, "7", { localQueue: 7 }],
    ["serving.knative.dev/rollout-duration", "10m", { rolloutDurationMs: 600_000 }],
    ["serving.knative.dev/progress-deadline", "2h", { progressDeadlineMs: 7_200_000 }],
  ];

  test.each(rows)("%s: %s", (key, text, expected) => {
    const { settings, errors } = read({ [key]: text }, known);
    expect(errors).toEqual([]);
    expect(settings).toMatchObject(expected);
  });

  test("every key has a row", () => {
    const covered = new Set(rows.map(([key]) => key.split("/")[1]));
    const all = [...Object.keys(OWN_KEYS), ...Object.keys(STOCK_KEYS)];
    expect(all.filter((key) => !covered.has(key))).toEqual(["class"]);
  });
});

describe("bad values", () => {
  const rows: readonly [key: string, text: string, error: string][] = [
    [
      `${A}/class`,
      "vpa.autoscaling.knative.dev",
      `invalid value: vpa.autoscaling.knative.dev: ${A}/class`,
    ],
    [`${A}/min-scale`, "-1", `expected 0 <= -1 <= 2147483647: ${A}/min-scale`],
    [`${A}/min-scale`, "two", `invalid value: two: ${A}/min-scale`],
    [
      `${A}/min-scale`,
      "11",
      `max-scale=10 is less than min-scale=11: ${A}/max-scale, ${A}/min-scale`,
    ],
    [`${A}/max-scale`, "2147483648", `expected 0 <= 2147483648 <= 2147483647: ${A}/max-scale`],
    [`${A}/max-scale`, "abc", `invalid value: abc: ${A}/max-scale`],
    [`${A}/initial-scale`, "-1", `expected 0 <= -1 <= 2147483647: ${A}/initial-scale`],
    [`${A}/activation-scale`, "1", `expected 2 <= 1 <= 2147483647: ${A}/activation-scale`],
    [
      `${A}/activation-scale`,
      "11",
      `max-scale=10 is less than activation-scale=11: ${A}/max-scale, ${A}/activation-scale`,
    ],
    [`${A}/scale-down-delay`, "2h", `expected 0s <= 2h0m0s <= 1h0m0s: ${A}/scale-down-delay`],
    [`${A}/scale-down-delay`, "soon", `invalid value: soon: ${A}/scale-down-delay`],
    [`${P}/cooldown`, "25h", `expected 0s <= 25h0m0s <= 24h0m0s: ${P}/cooldown`],
    [`${P}/cooldown`, "1500ms", `must be specified with at most second precision: ${P}/cooldown`],
    [`${P}/cooldown`, "-5s", `expected 0s <= -5s <= 24h0m0s: ${P}/cooldown`],
    [
      `${A}/metric`,
      "gpu",
      `invalid value: gpu: ${A}/metric\nmust be one of concurrency, rps, cpu, memory`,
    ],
    [`${A}/metric`, "cpu", `metric cpu needs min-scale >= 1: ${A}/min-scale`],
    [`${A}/target`, "0", `target 0 should be at least 0.01: ${A}/target`],
    [`${A}/target`, "abc", `invalid value: abc: ${A}/target`],
    [
      `${A}/target-utilization-percentage`,
      "120",
      `expected 1 <= 120 <= 100: ${A}/target-utilization-percentage`,
    ],
    [
      `${A}/target-utilization-percentage`,
      "0",
      `expected 1 <= 0 <= 100: ${A}/target-utilization-percentage`,
    ],
    [`${A}/target-burst-capacity`, "-2", `invalid value: -2: ${A}/target-burst-capacity`],
    [`${A}/window`, "5s", `expected 6s <= 5s <= 1h0m0s: ${A}/window`],
    [`${A}/window`, "0s", `expected 6s <= 0s <= 1h0m0s: ${A}/window`],
    [`${A}/window`, "6.5s", `must be specified with at most second precision: ${A}/window`],
    [`${A}/panic-window-percentage`, "0", `expected 1 <= 0 <= 100: ${A}/panic-window-percentage`],
    [
      `${A}/panic-threshold-percentage`,
      "100",
      `expected 110 <= 100 <= 1000: ${A}/panic-threshold-percentage`,
    ],
    [
      `${A}/metric-aggregation-algorithm`,
      "median",
      `invalid value: median: ${A}/metric-aggregation-algorithm`,
    ],
    [
      `${A}/scale-to-zero-pod-retention-period`,
      "61m",
      `expected 0s <= 1h1m0s <= 1h0m0s: ${A}/scale-to-zero-pod-retention-period`,
    ],
    [`${P}/scaling-buffer`, "lots", `invalid value: lots: ${P}/scaling-buffer`],
    [`${P}/scaling-buffer`, "1.5", `invalid value: 1.5: ${P}/scaling-buffer`],
    [`${P}/scaling-buffer`, "1001", `expected 0 <= 1001 <= 1000: ${P}/scaling-buffer`],
    [`${P}/scaling-buffer`, "501%", `expected 0% <= 501% <= 500%: ${P}/scaling-buffer`],
    [`${P}/scaling-buffer-mode`, "x", `invalid value: x: ${P}/scaling-buffer-mode`],
    [
      `${P}/load-balancing`,
      "fastest",
      `invalid value: fastest: ${P}/load-balancing\nmust be one of first-available, round-robin, min-connections, random-choice-2, speed-aware, least-connections, or empty`,
    ],
    [`${P}/compute-tier`, "spot", `invalid value: spot: ${P}/compute-tier`],
    [`${P}/gpu-preference`, "a,b,c,d,e,f", `expected 1 <= 6 <= 5: ${P}/gpu-preference`],
    [`${P}/gpu-preference`, "H900", `unknown GPU type "H900": ${P}/gpu-preference`],
    [
      `${P}/gpu-preference`,
      "H100,Trn1",
      `cannot mix families nvidia and neuron: ${P}/gpu-preference`,
    ],
    [`${P}/regions`, "mars-1", `unknown region "mars-1": ${P}/regions`],
    [`${P}/auth`, "basic", `invalid value: basic: ${P}/auth`],
    [`${P}/queue-depth`, "-1", `expected 0 <= -1 <= 100000: ${P}/queue-depth`],
    [`${P}/queue-timeout`, "13h", `expected 0s <= 13h0m0s <= 12h0m0s: ${P}/queue-timeout`],
    [`${P}/activation-timeout`, "0s", `expected 1s <= 0s <= 1h0m0s: ${P}/activation-timeout`],
    [`${P}/scale-up-delay`, "61s", `expected 0s <= 1m1s <= 1m0s: ${P}/scale-up-delay`],
    [`${P}/service-min-scale`, "-1", `expected 0 <= -1 <= 2147483647: ${P}/service-min-scale`],
    [`${P}/retry`, "always", `invalid value: always: ${P}/retry`],
    [`${P}/quarantine-period`, "99ms", `expected 100ms <= 99ms <= 5m0s: ${P}/quarantine-period`],
    [`${P}/quarantine-max`, "500ms", `expected 1s <= 500ms <= 1h0m0s: ${P}/quarantine-max`],
    [`${P}/quarantine-action`, "kill", `invalid value: kill: ${P}/quarantine-action`],
    [`${P}/flap-threshold`, "1", `expected 2 <= 1 <= 100: ${P}/flap-threshold`],
    [`${P}/session-affinity`, "sticky", `invalid value: sticky: ${P}/session-affinity`],
    [`${P}/async`, "yes", `invalid value: yes: ${P}/async`],
    [
      `${P}/async-max-duration`,
      "13h",
      `expected 1s <= 13h0m0s <= 12h0m0s: ${P}/async-max-duration`,
    ],
    [`${P}/webhook-hosts`, "http://x", `invalid host pattern "http://x": ${P}/webhook-hosts`],
    [`${P}/algorithm`, "hpa", `invalid value: hpa: ${P}/algorithm`],
    [`${P}/slo`, "0s", `expected 1ms <= 0s <= 24h0m0s: ${P}/slo`],
    [`${P}/stages`, "plan=1s,revise", `stage "revise" has no duration: ${P}/stages`],
    [
      `${P}/stages`,
      Array.from({ length: 33 }, (_, n) => `s${n}=1s`).join(),
      `expected 1 <= 33 <= 32: ${P}/stages`,
    ],
    [`${P}/alpha`, "2.0", `invalid value: 2.0: ${P}/alpha\nmust be auto or a number from 0 to 1`],
    [`${P}/binding`, "eager", `invalid value: eager: ${P}/binding`],
    [`${P}/queue-order`, "lifo", `invalid value: lifo: ${P}/queue-order`],
    [`${P}/starvation-limit`, "0s", `expected 1s <= 0s <= 1h0m0s: ${P}/starvation-limit`],
    [`${P}/local-queue`, "10001", `expected 0 <= 10001 <= 10000: ${P}/local-queue`],
    [
      "serving.knative.dev/rollout-duration",
      "1.5s",
      "rollout-duration=1.5s is not at second precision: serving.knative.dev/rollout-duration",
    ],
    [
      "serving.knative.dev/progress-deadline",
      "1.5s",
      "progress-deadline=1.5s is not at second precision: serving.knative.dev/progress-deadline",
    ],
    [
      "serving.knative.dev/progress-deadline",
      "0s",
      "progress-deadline=0s must be positive: serving.knative.dev/progress-deadline",
    ],
  ];

  test.each(rows)("%s: %s", (key, text, error) => {
    expect(read({ [key]: text }, known).errors).toEqual([error]);
  });

  test("every key has a row, save those that take any text", () => {
    const covered = new Set(rows.map(([key]) => key.split("/")[1]));
    const all = [...Object.keys(OWN_KEYS), ...Object.keys(STOCK_KEYS)];
    expect(all.filter((key) => !covered.has(key))).toEqual(["local-command"]);
  });

  test.each([
    [
      { containerConcurrency: 1_001 },
      "expected 0 <= 1001 <= 1000: spec.template.spec.containerConcurrency",
    ],
    [{ timeoutSeconds: 50_000 }, "expected 0 <= 50000 <= 43200: spec.template.spec.timeoutSeconds"],
    [
      { idleTimeoutSeconds: 901 },
      "expected 0 <= 901 <= 900: spec.template.spec.idleTimeoutSeconds",
    ],
  ])("%j", (rest, error) => {
    expect(read({}, rest).errors).toEqual([error]);
  });

  test("all of an object are told at once, and its settings stay usable", () => {
    const { settings, errors } = read({
      [`${A}/window`]: "0s",
      [`${A}/target`]: "abc",
      [`${P}/cooldown`]: "forever",
      [`${A}/target-utilization-percentage`]: "0",
    });
    expect(errors).toHaveLength(4);
    expect(settings).toMatchObject({
      windowMs: 30_000,
      target: null,
      cooldownMs: 10_000,
      targetUtilization: 1,
    });
  });

  test("a first scale of zero is one where the cluster does not allow it", () => {
    const input = { annotations: { [`${A}/initial-scale`]: "0" }, requestsGpu: true };
    const { errors } = readSettings(input, { ...PLATFORM_DEFAULTS, allowZeroInitialScale: false });
    expect(errors).toEqual([`invalid value: 0: ${A}/initial-scale`]);
    expect(read({ [`${A}/initial-scale`]: "0" }).errors).toEqual([]);
  });

  test("a buffer with cpu names the metric", () => {
    const { errors } = read({
      [`${A}/metric`]: "cpu",
      [`${A}/min-scale`]: "1",
      [`${P}/scaling-buffer`]: "2",
    });
    expect(errors).toEqual([
      `scaling-buffer needs metric concurrency or rps, got cpu: ${P}/scaling-buffer`,
    ]);
  });

  test("a megabyte of nonsense is cut in the message", () => {
    const [error] = read({ [`${P}/retry`]: "x".repeat(1_000_000) }).errors;
    expect(error?.length).toBeLessThan(200);
  });
});

describe("defaults", () => {
  test("one slot with a GPU, a hundred without", () => {
    expect(read({}).settings.containerConcurrency).toBe(1);
    expect(read({}, { requestsGpu: false }).settings.containerConcurrency).toBe(100);
  });

  test.each([
    [1, "first-available"],
    [3, "first-available"],
    [4, "round-robin"],
    [0, "random-choice-2"],
  ])("%i slots choose %s", (containerConcurrency, policy) => {
    expect(read({}, { containerConcurrency }).settings.loadBalancing).toBe(policy);
  });

  test("are those of a GPU platform, as a configuration for the store", () => {
    const name = { namespace: "a", service: "b", revision: "b-1", protocol: "http1" } as const;
    const facts = { failure: null, waitingFor: "", startTimeMs: 0 };
    const { settings, errors, warnings } = read({});
    expect([errors, warnings]).toEqual([[], []]);
    expect(toRevisionConfig(name, settings, facts)).toEqual({
      ...name,
      ...facts,
      containerConcurrency: 1,
      policy: "first-available",
      queueDepth: 10_000,
      queueTimeoutMs: 900_000,
      activationTimeoutMs: 600_000,
      responseStartTimeoutMs: 0,
      idleTimeoutMs: 0,
      timeoutMs: 900_000,
      retry: "safe",
      auth: "none",
      regions: "",
      quarantinePeriodMs: 1_000,
      quarantineMaxMs: 60_000,
      quarantineAction: "replace",
      flapThreshold: 3,
      scaleUpDelayMs: 1_000,
      queueOrder: "fifo",
      starvationLimitMs: 60_000,
      localQueue: 0,
    });
    expect(settings).toMatchObject({
      minScale: 0,
      maxScale: 10,
      windowMs: 30_000,
      cooldownMs: 10_000,
      targetUtilization: 1,
      initialScale: 1,
    });
  });
});

describe("live keys", () => {
  test("of the Service win over the revision's", () => {
    const { settings } = read(
      { [`${P}/cooldown`]: "1m" },
      { serviceAnnotations: { [`${P}/cooldown`]: "2m" } },
    );
    expect(settings.cooldownMs).toBe(120_000);
  });

  test("other keys on the Service do nothing, and that is said", () => {
    const { settings, warnings } = read({}, { serviceAnnotations: { [`${P}/retry`]: "never" } });
    expect(settings.retry).toBe("safe");
    expect(warnings).toEqual([
      `${P}/retry has no effect on the Service: move it to spec.template.metadata.annotations`,
    ]);
  });
});

describe("warnings", () => {
  test.each([
    [{ [`${P}/cool-down`]: "1m" }, `unknown annotation ${P}/cool-down, did you mean cooldown?`],
    [{ [`${P}/zzzzzzzzzzzz`]: "1m" }, `unknown annotation ${P}/zzzzzzzzzzzz`],
    [
      { [`${A}/target-burst-capacity`]: "211" },
      "target-burst-capacity has no effect: the router is always in the path",
    ],
    [
      { [`${A}/scale-down-delay`]: "1m", [`${P}/cooldown`]: "2m" },
      `${A}/scale-down-delay=1m and ${P}/cooldown=2m mean the same: ${P}/cooldown wins`,
    ],
    [{ [`${A}/window`]: "301s" }, "window=301s is long: pods follow demand slowly above 5m0s"],
  ])("%j", (annotations, warning) => {
    const { errors, warnings } = read(annotations);
    expect([errors, warnings]).toEqual([[], [warning]]);
  });

  test("the same cooldown twice is no contradiction", () => {
    const same = { [`${A}/scale-down-delay`]: "60s", [`${P}/cooldown`]: "1m" };
    expect(read(same).warnings).toEqual([]);
  });

  test("no key waits for its behaviour", () => {
    expect(NOT_IN_EFFECT_YET).toEqual([]);
  });

  test.each([
    ["max-scal", "max-scale"],
    ["queue-dept", "queue-depth"],
    ["x", null],
  ])("nearest to %s is %s", (name, expected) => {
    expect(nearestName(name, ["max-scale", "queue-depth", "retry"])).toBe(expected);
  });
});
