/**
 * One revision, once: read, decide (pure), act, report. Level-based and idempotent: a second pass
 * over the same world writes nothing.
 */
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { PlatformEvent } from "../foundation/events.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RoutingStore } from "../store/types.ts";
import type { CellScaling } from "./cell-scaling.ts";
import { withDeadlines } from "./core/deadlines.ts";
import { decide } from "./core/decision.ts";
import type { Decision } from "./core/decision.ts";
import type { ScalerState } from "./core/scaler-state.ts";
import { leaveOrder } from "./core/leave-order.ts";
import { addPodTime } from "./core/pod-time.ts";
import type { ClusterDefaults } from "./core/settings/defaults.ts";
import { explainInWords } from "./explain.ts";
import type { DecisionRecord } from "./decision-log.ts";
import { observe, signatureOf } from "./observation.ts";
import type { Observation } from "./observation.ts";
import type {
  EntranceSink,
  ResourceUseSource,
  ScaledRevision,
  ScaleTarget,
  StatusSink,
} from "./ports.ts";
import {
  activatorsOf,
  configureStore,
  leaveAsItIs,
  readGoodSettings,
} from "./revision-settings.ts";
import type { SettingsInForce } from "./revision-settings.ts";
import { takeFigures } from "./revision-memory.ts";
import type { RevisionMemory } from "./revision-memory.ts";
import {
  comparePodsIfDue,
  keepDecisions,
  keepState,
  replaceEvicted,
  reportStatus,
} from "./upkeep.ts";

export interface ReconcilerOptions {
  readonly store: RoutingStore;
  readonly scale: ScaleTarget;
  readonly status: StatusSink;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metricsSource?: ResourceUseSource | undefined;
  readonly defaults: () => ClusterDefaults;
  /** Told of each decision, also of one that changes nothing. */
  readonly onDecision: (record: DecisionRecord) => void;
  /** Told of what happened to pods and targets. */
  readonly onEvent: (event: PlatformEvent) => void;
  /** False: another process leads by now, and nothing more is written. */
  readonly mayAct?: (() => boolean) | undefined;
  /** Absent: requests enter at every activator. */
  readonly entrance?: EntranceSink | undefined;
  /** Bounds of services that run in several cells; absent: there is one cell. */
  readonly cellScaling?: CellScaling | undefined;
}

/** Samples closer than this add nothing to a window and cost the store memory. */
const RECORD_EVERY_US = 900_000;

/** Answers in how many ms the revision wants to be looked at again, `null`: at the next tick. */
export async function reconcile(
  options: ReconcilerOptions,
  revision: ScaledRevision,
  memory: RevisionMemory,
): Promise<number | null> {
  const inForce = readGoodSettings(revision, memory, options);
  const settings = { ...inForce, settings: withDeadlines(inForce.settings, memory.startTimeMs) };
  if (memory.config === null || memory.verifyConfig) {
    options.cellScaling?.retell(revision.key);
    const waitingFor = memory.config?.waitingFor ?? "";
    await configureStore(options, revision, memory, { settings, waitingFor });
  }
  if (revision.scaledElsewhere === true) {
    await makeKnown(options, revision, memory, settings);
    return null;
  }
  const observed = await look(options, revision, memory, settings);
  for (const event of await memory.watch.look(observed, options.store)) options.onEvent(event);
  const { decision, inCell } = decideFor(options, revision, memory, { settings, observed });
  if (options.mayAct?.() === false) return null;
  await act(options, revision, memory, { observed, decision });
  memory.state = decision.state;
  memory.decision = decision;
  memory.readyPods = observed.readyPods;
  memory.livePods = observed.pods.length;
  memory.cards = cardsOf(observed);
  await replaceEvicted(options, memory, settings.settings);
  await configureStore(options, revision, memory, { settings, waitingFor: observed.waitingFor });
  await reportStatus(options, revision, memory, { settings: inCell, observed, decision });
  await comparePodsIfDue(options, memory, observed);
  await keepState(options, memory);
  await keepDecisions(options, memory);
  return decision.comeBackInMs;
}

/** Requests to it come through the same activators; faults that only we see must not stop them. */
async function makeKnown(
  options: ReconcilerOptions,
  revision: ScaledRevision,
  memory: RevisionMemory,
  inForce: SettingsInForce,
): Promise<void> {
  const settings = { ...inForce, usable: true };
  await configureStore(options, revision, memory, { settings, waitingFor: "" });
  const podSignature = signatureOf(await options.scale.listPods(revision.key));
  await comparePodsIfDue(options, memory, { podSignature });
}

async function look(
  options: ReconcilerOptions,
  revision: ScaledRevision,
  memory: RevisionMemory,
  inForce: SettingsInForce,
): Promise<Observation> {
  const lastAt = memory.history.last?.at ?? 0;
  const due = lastAt - memory.recordedAt >= RECORD_EVERY_US || memory.trigger === "tick";
  const observed = await observe(options, revision, inForce.settings, due ? "record" : "look");
  memory.clockSkewMs = options.clock.now() - observed.figures.at / 1_000;
  memory.podTime = addPodTime(memory.podTime, {
    nowMs: observed.figures.at / 1_000,
    targetsByState: observed.figures.targetsByState,
    busy: observed.figures.busy,
    containerConcurrency: inForce.settings.containerConcurrency,
    livePods: observed.pods.length,
  });
  takeFigures(memory, observed.figures, inForce.settings.windowMs);
  // Only a recording read takes the list of evicted targets; a look would name them twice.
  if (due) {
    memory.recordedAt = observed.figures.at;
    for (const uid of observed.figures.evicted) memory.toReplace.add(uid);
    if (observed.figures.evicted.length > 0) memory.lastFailureAtMs = options.clock.now();
  }
  return observed;
}

/** Ready pods by card, in the order of the names, so that the same pool gives the same text. */
function cardsOf({ pods }: Observation): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { phase, card } of pods) {
    if (phase === "ready") counts.set(card, (counts.get(card) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** What the store has lost, the status of the object may still say. */
function resumedState(revision: ScaledRevision, memory: RevisionMemory): ScalerState {
  const { state } = memory;
  if (revision.initialised !== true || state.initialised) return state;
  return { ...state, initialised: true };
}

function surroundingsOf(revision: ScaledRevision): {
  readonly reachable: boolean;
  readonly trafficShare: number | null;
  readonly serviceKnown: boolean;
} {
  const { reachable, trafficShare, network } = revision;
  return {
    reachable,
    trafficShare: trafficShare ?? null,
    serviceKnown: network?.serviceKnown ?? true,
  };
}

/** Without good settings, or with somebody else's object in the way, all stays as it is. */
function mayTouch(revision: ScaledRevision, { usable }: SettingsInForce): boolean {
  return usable && revision.network?.notOwned === undefined;
}

function decideFor(
  options: ReconcilerOptions,
  revision: ScaledRevision,
  memory: RevisionMemory,
  given: { readonly settings: SettingsInForce; readonly observed: Observation },
): { readonly decision: Decision; readonly inCell: SettingsInForce } {
  const { figures, pods, replicas, readyPods, resourcePercent, existingPods } = given.observed;
  const bound = options.cellScaling?.bound(revision, given.settings.settings, replicas);
  // Its status is judged by what this cell has to keep, too.
  const inCell = { ...given.settings, settings: bound?.settings ?? given.settings.settings };
  const decision = decide({
    nowMs: figures.at / 1_000,
    settings: inCell.settings,
    cellCap: bound?.cap ?? null,
    defaults: options.defaults(),
    ...surroundingsOf(revision),
    history: memory.history,
    resourcePercent,
    busy: figures.busy,
    waiting: figures.waiting,
    aged: figures.aged,
    oldestArrivedAtMs: figures.oldestArrivedAt / 1_000,
    readyPods,
    pods,
    currentReplicas: replicas,
    state: resumedState(revision, memory),
  });
  const usable = mayTouch(revision, given.settings) ? decision : leaveAsItIs(decision);
  // Before anything else is decided, so that two revisions never take the same share.
  if (bound !== undefined) options.cellScaling?.decided(revision, bound, usable, existingPods);
  return { decision: usable, inCell };
}

async function act(
  options: ReconcilerOptions,
  revision: ScaledRevision,
  memory: RevisionMemory,
  given: { readonly observed: Observation; readonly decision: Decision },
): Promise<void> {
  const { observed, decision } = given;
  const decidedAt = options.clock.now();
  const reason = explainInWords(decision.explanation);
  const record: DecisionRecord = {
    key: revision.key,
    at: observed.figures.at / 1_000,
    trigger: memory.trigger,
    from: observed.replicas,
    to: decision.replicas,
    reason,
    explanation: decision.explanation,
  };
  if (memory.log.add(record) === "news") memory.toKeep.push(record);
  if (decision.replicas !== observed.replicas) {
    await options.scale.writeScale({
      key: revision.key,
      replicas: decision.replicas,
      leaveOrder: await orderOfLeaving(options, revision.key, given),
      decidedAt,
      reason,
    });
    options.logger.info("scale changed", {
      key: revision.key,
      from: observed.replicas,
      to: decision.replicas,
      trigger: memory.trigger,
      reason,
    });
  }
  options.entrance?.useActivators(revision.key, activatorsOf(decision.state));
  options.onDecision(record);
}

/** Only a smaller scale sends anybody away, and only then the targets are worth a read. */
async function orderOfLeaving(
  options: ReconcilerOptions,
  key: RevisionKey,
  given: { readonly observed: Observation; readonly decision: Decision },
): Promise<readonly string[]> {
  if (given.decision.replicas >= given.observed.replicas) return [];
  const targets = await options.store.readTargets(key);
  return leaveOrder(
    given.observed.pods.map((pod) => ({ ...pod, terminating: false })),
    targets,
  );
}
