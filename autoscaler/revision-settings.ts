/**
 * Which settings are in force for a revision, and telling the store about them. A faulty object
 * keeps its last good settings; one that never had any serves nobody and says why.
 */
import { LEAST_ACTIVATORS } from "../common/activator-subset.ts";
import type { ActivationFailure, RevisionConfig } from "../common/contracts/routing.ts";
import type { RoutingStore } from "../store/types.ts";
import {
  AUTOSCALING_PREFIX,
  PILOTLIGHT_PREFIX,
  SERVING_PREFIX,
} from "../common/contracts/annotations.ts";
import type { Decision } from "./core/decision.ts";
import type { ClusterDefaults } from "./core/settings/defaults.ts";
import { toRevisionConfig } from "./core/settings/revision-config.ts";
import { readSettings } from "./core/settings/settings.ts";
import type { RevisionSettings, SettingsResult } from "./core/settings/types.ts";
import type { Clock } from "../common/clock.ts";
import type { Logger } from "../foundation/logger.ts";
import type { ScaledRevision } from "./ports.ts";
import type { RevisionMemory } from "./revision-memory.ts";

export interface SettingsInForce {
  readonly settings: RevisionSettings;
  /** Faults of the object as it stands; the settings may be older ones. */
  readonly errors: readonly string[];
  /** False: there never were good settings, so no pod may start. */
  readonly usable: boolean;
}

export interface SettingsOptions {
  readonly store: RoutingStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly defaults: () => ClusterDefaults;
}

/** Start times move slowly; one read per revision and half minute is plenty. */
const START_TIME_EVERY_MS = 30_000;
/** The first one ever is worth more looks: callers and other cells go by it. */
const FIRST_START_EVERY_MS = 1_000;
const START_TIME_SAMPLES = 20;

export function readGoodSettings(
  revision: ScaledRevision,
  memory: RevisionMemory,
  options: Pick<SettingsOptions, "defaults" | "logger">,
): SettingsInForce {
  const defaults = options.defaults();
  const { settings, errors } = currentSettings(revision, memory, {
    defaults,
    logger: options.logger,
  });
  if (errors.length === 0) return { settings, errors, usable: true };
  const good = memory.state.goodAnnotations;
  if (good === null) return { settings, errors, usable: false };
  return { settings: read(revision, good, defaults).settings, errors, usable: true };
}

/** Read again when the object or the cluster's defaults changed, and said then, not at each tick. */
function currentSettings(
  revision: ScaledRevision,
  memory: RevisionMemory,
  given: { readonly defaults: ClusterDefaults; readonly logger: Logger },
): SettingsResult {
  const unchanged = memory.readFrom === revision || memory.readText === textOf(revision);
  memory.readFrom = revision;
  if (unchanged && memory.settings !== null && memory.defaults === given.defaults) {
    return memory.settings;
  }
  const result = read(revision, revision.annotations, given.defaults);
  memory.settings = result;
  memory.defaults = given.defaults;
  memory.readText = textOf(revision);
  tell(revision, result, given.logger);
  if (result.errors.length === 0) {
    memory.state = { ...memory.state, goodAnnotations: scalingAnnotations(revision) };
  }
  return result;
}

/** Sources may hand out a new object at each call: what counts is whether it says the same. */
function textOf(revision: ScaledRevision): string {
  const { annotations, serviceAnnotations, containerConcurrency } = revision;
  const { timeoutSeconds, responseStartTimeoutSeconds, idleTimeoutSeconds } = revision;
  return JSON.stringify([
    annotations,
    serviceAnnotations,
    [containerConcurrency, timeoutSeconds, responseStartTimeoutSeconds, idleTimeoutSeconds],
  ]);
}

function read(
  revision: ScaledRevision,
  annotations: Readonly<Record<string, string>>,
  defaults: ClusterDefaults,
): SettingsResult {
  return readSettings(
    {
      annotations,
      serviceAnnotations: revision.serviceAnnotations,
      containerConcurrency: revision.containerConcurrency,
      timeoutSeconds: revision.timeoutSeconds,
      responseStartTimeoutSeconds: revision.responseStartTimeoutSeconds,
      idleTimeoutSeconds: revision.idleTimeoutSeconds,
      requestsGpu: false,
    },
    defaults,
  );
}

function tell(revision: ScaledRevision, result: SettingsResult, logger: Logger): void {
  const { key } = revision;
  if (result.errors.length > 0) logger.warn("settings refused", { key, errors: result.errors });
  if (result.warnings.length > 0) logger.info("settings warn", { key, warnings: result.warnings });
}

/** What is worth keeping of the annotations: ours and Knative's, never a megabyte of notes. */
function scalingAnnotations(revision: ScaledRevision): Readonly<Record<string, string>> {
  const prefixes = [AUTOSCALING_PREFIX, PILOTLIGHT_PREFIX, SERVING_PREFIX];
  const entries = Object.entries(revision.annotations).filter(
    ([key, text]) => prefixes.some((prefix) => key.startsWith(prefix)) && text.length <= 1_024,
  );
  return Object.fromEntries(entries.slice(0, 64));
}

/** An object that was never good, or is not ours, gets no pod; what runs is left alone. */
export function leaveAsItIs(decision: Decision): Decision {
  const current = decision.explanation.currentReplicas;
  return { ...decision, replicas: current, want: current, comeBackInMs: null };
}

/** Writes the configuration when it changed, or when the store has lost it. */
export async function configureStore(
  options: SettingsOptions,
  revision: ScaledRevision,
  memory: RevisionMemory,
  facts: { readonly settings: SettingsInForce; readonly waitingFor: string },
): Promise<void> {
  await refreshStartTime(options, memory);
  const config = toRevisionConfig(revision, facts.settings.settings, {
    failure: failureOf(facts.settings, memory),
    waitingFor: facts.waitingFor,
    startTimeMs: memory.startTimeMs,
    activators: revision.scaledElsewhere === true ? undefined : activatorsOf(memory.state),
    tunedAlpha: memory.tunedAlpha,
  });
  if (memory.verifyConfig) {
    memory.verifyConfig = false;
    if (memory.config !== null && (await options.store.readRevision(memory.key)) === null) {
      memory.config = null;
    }
  }
  if (memory.config !== null && isSameConfig(memory.config, config)) return;
  await options.store.configureRevision(config);
  memory.config = config;
}

export function activatorsOf({ activators }: RevisionMemory["state"]): number {
  return activators?.count ?? LEAST_ACTIVATORS;
}

function failureOf(inForce: SettingsInForce, memory: RevisionMemory): ActivationFailure | null {
  if (inForce.usable) return memory.state.failure;
  return { reason: "InvalidSettings", message: inForce.errors.join("\n") };
}

/** Flat but for the failure. */
function isSameConfig(left: RevisionConfig, right: RevisionConfig): boolean {
  for (const key of Object.keys(right) as (keyof RevisionConfig)[]) {
    if (key !== "failure" && left[key] !== right[key]) return false;
  }
  const [before, now] = [left.failure, right.failure];
  return before?.reason === now?.reason && before?.message === now?.message;
}

async function refreshStartTime(options: SettingsOptions, memory: RevisionMemory): Promise<void> {
  const now = options.clock.now();
  const everyMs = isAfterFirstStart(memory, now) ? FIRST_START_EVERY_MS : START_TIME_EVERY_MS;
  if (now - memory.startTimeReadAtMs < everyMs) return;
  memory.startTimeReadAtMs = now;
  const records = await options.store.readColdStarts(memory.key, START_TIME_SAMPLES);
  const times = records
    .map((record) => record.dispatchedAt - record.requestAt)
    .filter((time) => time > 0)
    .toSorted((left, right) => left - right);
  memory.startTimeMs = Math.round(times[Math.floor(times.length / 2)] ?? 0);
}

/** A pod came up a moment ago, and no request has told yet how long that took. */
function isAfterFirstStart(
  { startTimeMs, state, clockSkewMs }: RevisionMemory,
  now: number,
): boolean {
  const { startedAtMs } = state;
  if (startTimeMs > 0 || startedAtMs === null) return false;
  return now - clockSkewMs - startedAtMs < START_TIME_EVERY_MS;
}
