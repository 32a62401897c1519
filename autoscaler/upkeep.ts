/**
 * What one reconcile does beside scaling: replaces evicted pods, reports the status, compares pods
 * with targets, and keeps the scaler's memory in the store. Each writes only what changed.
 */
import type { Clock } from "../common/clock.ts";
import { errorText } from "../common/errors.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { PodFact, RoutingStore } from "../store/types.ts";
import { activeCondition, updateConditions } from "./core/conditions.ts";
import type { Judgement } from "./core/conditions.ts";
import type { Decision } from "./core/decision.ts";
import { encodeState, isSameMark, markState } from "./core/scaler-state.ts";
import type { RevisionSettings } from "./core/settings/types.ts";
import { encodeRecord } from "./decision-log.ts";
import type { Observation } from "./observation.ts";
import type { ScaledRevision, ScaleTarget, ScalerStatus, StatusSink } from "./ports.ts";
import type { RevisionMemory } from "./revision-memory.ts";
import type { SettingsInForce } from "./revision-settings.ts";

export interface UpkeepOptions {
  readonly store: RoutingStore;
  readonly scale: ScaleTarget;
  readonly status: StatusSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The whole compare of pods and targets, beside the one at each change. */
const COMPARE_EVERY_MS = 30_000;

export async function replaceEvicted(
  options: UpkeepOptions,
  memory: RevisionMemory,
  settings: RevisionSettings,
): Promise<void> {
  for (const uid of memory.toReplace) {
    if (settings.quarantineAction === "replace") {
      options.logger.warn("pod replaced", { key: memory.key, pod: uid, reason: "never recovered" });
      await options.scale.replacePod(memory.key, uid, "the target never recovered from quarantine");
    }
    memory.toReplace.delete(uid);
  }
}

export async function reportStatus(
  options: UpkeepOptions,
  revision: ScaledRevision,
  memory: RevisionMemory,
  given: {
    readonly settings: SettingsInForce;
    readonly observed: Observation;
    readonly decision: Decision;
  },
): Promise<void> {
  const { observed, decision } = given;
  const nowMs = observed.figures.at / 1_000;
  const conditions = updateConditions(
    memory.state.conditions,
    {
      Active: activeJudgement(revision, memory, given),
      ScaleTargetInitialized: memory.state.initialised
        ? { status: "True", reason: "", message: "" }
        : { status: "Unknown", reason: "", message: "" },
      SKSReady: networkJudgement(revision),
    },
    nowMs,
  );
  const known = decision.want >= 0 ? decision.want : (memory.status?.desiredScale ?? -1);
  const status: ScalerStatus = {
    desiredScale: known,
    actualScale: observed.readyPods,
    conditions,
  };
  memory.state = { ...memory.state, conditions };
  const isKept = memory.status !== null && isSameStatus(memory.status, status);
  if (isKept && (options.status.isCurrent?.(revision.key, status) ?? true)) return;
  await options.status.writeStatus(revision.key, status);
  memory.status = status;
}

function isSameStatus(left: ScalerStatus, right: ScalerStatus): boolean {
  return (
    left.desiredScale === right.desiredScale &&
    left.actualScale === right.actualScale &&
    left.conditions === right.conditions
  );
}

function activeJudgement(
  revision: ScaledRevision,
  memory: RevisionMemory,
  given: {
    readonly settings: SettingsInForce;
    readonly observed: Observation;
    readonly decision: Decision;
  },
): Judgement {
  const { settings } = given.settings;
  const { notOwned } = revision.network ?? {};
  if (notOwned !== undefined) return { status: "False", reason: "NotOwned", message: notOwned };
  if (!given.settings.usable) {
    return {
      status: "False",
      reason: "InvalidSettings",
      message: given.settings.errors.join("\n"),
    };
  }
  const before = memory.state.conditions.find((condition) => condition.type === "Active");
  const failure = memory.state.failure;
  const active = activeCondition({
    before: before?.status ?? "Unknown",
    beforeJudgement: before,
    initialised: given.decision.wasInitialised,
    want: given.decision.want,
    ready: given.observed.readyPods,
    minScale: settings.minScale,
    initialScale: settings.initialScale,
    reachable: revision.reachable,
    waitingFor: given.observed.waitingFor,
  });
  if (failure === null || active.status === "True") return active;
  // Stays Unknown while starting: a False before the first start would fail the revision for good.
  return { status: active.status, reason: failure.reason, message: failure.message };
}

function networkJudgement(revision: ScaledRevision): Judgement {
  const { network } = revision;
  if (network === undefined) return { status: "True", reason: "", message: "" };
  return { status: network.status, reason: network.reason, message: network.message };
}

/** T6: at each change of the pods and every 30 s; from a fresh list, since an old one buries pods. */
export async function comparePodsIfDue(
  options: UpkeepOptions,
  memory: RevisionMemory,
  observed: Pick<Observation, "podSignature">,
): Promise<void> {
  const now = options.clock.now();
  const seen = observed.podSignature;
  const due = now - memory.comparedAtMs >= COMPARE_EVERY_MS;
  if (!due && seen === memory.comparedPods) return;
  await compareAllPods(options, memory.key);
  memory.comparedPods = seen;
  memory.comparedAtMs = now;
}

async function compareAllPods(
  options: Pick<UpkeepOptions, "scale" | "store">,
  key: RevisionKey,
): Promise<void> {
  const pods = (await options.scale.listPods(key)).map((pod) => ({
    uid: pod.uid,
    podName: pod.name,
    draining: pod.phase === "terminating",
    card: pod.card,
  }));
  await options.store.comparePods(key, [...pods, ...(await lateInList(options, key, pods))]);
}

/** Targets whose pods the list does not have yet, or has lost, though they exist. */
async function lateInList(
  { scale, store }: Pick<UpkeepOptions, "scale" | "store">,
  key: RevisionKey,
  listed: readonly PodFact[],
): Promise<readonly PodFact[]> {
  if (scale.confirmGone === undefined) return [];
  const uids = new Set(listed.map(({ uid }) => uid));
  const absent = (await store.readTargets(key)).filter(({ uid }) => !uids.has(uid));
  if (absent.length === 0) return [];
  const gone = await scale.confirmGone(key, absent);
  return absent
    .filter(({ uid }) => !gone.has(uid))
    .map(({ uid, podName, card, state }) => ({
      uid,
      podName,
      card,
      draining: state === "draining",
    }));
}

/** Bounded where nobody takes them: a store that is gone costs the oldest. */
const MOST_UNKEPT = 50;

export async function keepDecisions(options: UpkeepOptions, memory: RevisionMemory): Promise<void> {
  const { toKeep } = memory;
  toKeep.splice(0, toKeep.length - MOST_UNKEPT);
  try {
    for (let next = toKeep[0]; next !== undefined; next = toKeep[0]) {
      await options.store.appendDecision(memory.key, encodeRecord(next));
      toKeep.shift();
    }
  } catch (error) {
    options.logger.warn("decision not kept", { key: memory.key, error: errorText(error) });
  }
}

/** A write that fails costs at most one longer cooldown after a restart: not worth a back-off. */
export async function keepState(options: UpkeepOptions, memory: RevisionMemory): Promise<void> {
  const mark = markState(memory.state);
  if (memory.keptMark !== null && isSameMark(memory.keptMark, mark)) return;
  try {
    await options.store.writeScalerState(memory.key, encodeState(memory.state));
    memory.keptMark = mark;
  } catch (error) {
    options.logger.warn("scaler state not kept", { key: memory.key, error: errorText(error) });
  }
}
