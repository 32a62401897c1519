/** The keys that say where a request goes, how long it waits, and what happens to a bad target. */
import { LOAD_BALANCING_POLICIES } from "../../../common/contracts/routing.ts";
import type { LoadBalancingPolicy } from "../../../common/contracts/routing.ts";
import type { ClusterDefaults } from "./defaults.ts";
import type { Found, SettingsReader } from "./reader.ts";
import { splitList } from "./reader.ts";
import type { RoutingSettings, SettingsInput } from "./types.ts";

const HOUR_MS = 3_600_000;
/** Up to this many slots a pod is kept full before the next is used. */
const FIRST_AVAILABLE_LIMIT = 3;
const HOST_PATTERN = /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?)$/i;
/** Name in an open pull request of Knative for what we call `min-connections`. */
const LEAST_CONNECTIONS = "least-connections";
const TIMEOUT_PATH = "spec.template.spec";

export function readRoutingSettings(
  reader: SettingsReader,
  defaults: ClusterDefaults,
  input: SettingsInput,
  containerConcurrency: number,
): RoutingSettings {
  const timeouts = readTimeouts(reader, defaults, input);
  return {
    loadBalancing: readPolicy(reader, containerConcurrency),
    ...timeouts,
    ...readWaiting(reader, timeouts.timeoutMs),
    retry: reader.word(reader.own("retry"), ["safe", "idempotent", "never"], "safe"),
    ...readQuarantine(reader),
    sessionAffinity: reader.word(
      reader.own("session-affinity"),
      ["none", "soft", "strict"],
      "none",
    ),
    async: reader.word(reader.own("async"), ["disabled", "enabled"], "disabled"),
    asyncMaxDurationMs: reader.durationMs(reader.own("async-max-duration"), {
      boundsMs: [1_000, 12 * HOUR_MS],
      fallbackMs: timeouts.timeoutMs,
    }),
    webhookHosts: readWebhookHosts(reader),
  };
}

/** `cc` absent: 1 for a pod that asks for a GPU, which runs one request at a time, else 100. */
export function readContainerConcurrency(
  reader: SettingsReader,
  defaults: ClusterDefaults,
  input: SettingsInput,
): number {
  const fallback = defaults.containerConcurrency ?? (input.requestsGpu ? 1 : 100);
  const value = input.containerConcurrency ?? fallback;
  const limit = defaults.containerConcurrencyLimit;
  if (Number.isInteger(value) && value >= 0 && value <= limit) return value;
  reader.problems.outOfBounds(value, [0, limit], `${TIMEOUT_PATH}.containerConcurrency`);
  return fallback;
}

function readTimeouts(
  reader: SettingsReader,
  defaults: ClusterDefaults,
  input: SettingsInput,
): Pick<RoutingSettings, "timeoutMs" | "responseStartTimeoutMs" | "idleTimeoutMs"> {
  const seconds = (name: string, given: number | undefined, limits: [number, number]): number => {
    const [fallback, limit] = limits;
    if (given === undefined) return fallback;
    if (Number.isInteger(given) && given >= 0 && given <= limit) return given;
    reader.problems.outOfBounds(given, [0, limit], `${TIMEOUT_PATH}.${name}`);
    return fallback;
  };
  // 0 stands for "not set" in Knative.
  const whole =
    seconds("timeoutSeconds", input.timeoutSeconds, [
      defaults.timeoutSeconds,
      defaults.timeoutLimitSeconds,
    ]) || defaults.timeoutSeconds;
  const start = seconds("responseStartTimeoutSeconds", input.responseStartTimeoutSeconds, [
    Math.min(defaults.responseStartTimeoutSeconds ?? 0, whole),
    whole,
  ]);
  const idle = seconds("idleTimeoutSeconds", input.idleTimeoutSeconds, [
    Math.min(defaults.idleTimeoutSeconds, whole),
    whole,
  ]);
  return {
    timeoutMs: whole * 1_000,
    responseStartTimeoutMs: start * 1_000,
    idleTimeoutMs: idle * 1_000,
  };
}

function readPolicy(reader: SettingsReader, containerConcurrency: number): LoadBalancingPolicy {
  const automatic = automaticPolicy(containerConcurrency);
  const found = reader.own("load-balancing");
  if (found === null || found.text === "") return automatic;
  if (found.text === LEAST_CONNECTIONS) return "min-connections";
  return reader.word(
    found,
    LOAD_BALANCING_POLICIES,
    automatic,
    `must be one of ${[...LOAD_BALANCING_POLICIES, LEAST_CONNECTIONS].join(", ")}, or empty`,
  );
}

function automaticPolicy(containerConcurrency: number): LoadBalancingPolicy {
  if (containerConcurrency === 0) return "random-choice-2";
  return containerConcurrency <= FIRST_AVAILABLE_LIMIT ? "first-available" : "round-robin";
}

function readWaiting(
  reader: SettingsReader,
  timeoutMs: number,
): Pick<RoutingSettings, "queueDepth" | "queueTimeoutMs" | "activationTimeoutMs"> {
  const queueTimeoutMs = reader.durationMs(reader.own("queue-timeout"), {
    boundsMs: [0, 12 * HOUR_MS],
    fallbackMs: 0,
  });
  return {
    queueDepth: reader.integer(reader.own("queue-depth"), [0, 100_000], 10_000),
    queueTimeoutMs: queueTimeoutMs === 0 ? timeoutMs : queueTimeoutMs,
    activationTimeoutMs: reader.durationMs(reader.own("activation-timeout"), {
      boundsMs: [1_000, HOUR_MS],
      fallbackMs: 600_000,
    }),
  };
}

function readQuarantine(
  reader: SettingsReader,
): Pick<
  RoutingSettings,
  "quarantinePeriodMs" | "quarantineMaxMs" | "quarantineAction" | "flapThreshold"
> {
  return {
    quarantinePeriodMs: reader.durationMs(reader.own("quarantine-period"), {
      boundsMs: [100, 300_000],
      fallbackMs: 1_000,
    }),
    quarantineMaxMs: reader.durationMs(reader.own("quarantine-max"), {
      boundsMs: [1_000, HOUR_MS],
      fallbackMs: 60_000,
    }),
    quarantineAction: reader.word(reader.own("quarantine-action"), ["replace", "drop"], "replace"),
    flapThreshold: reader.integer(reader.own("flap-threshold"), [2, 100], 3),
  };
}

function readWebhookHosts(reader: SettingsReader): readonly string[] {
  const found: Found | null = reader.own("webhook-hosts");
  if (found === null) return [];
  const hosts = splitList(found.text);
  const bad = hosts.filter((host) => !HOST_PATTERN.test(host));
  for (const host of bad) reader.problems.add(`invalid host pattern "${host}"`, found.path);
  return hosts.filter((host) => !bad.includes(host));
}
