/** What the controller keeps in memory for one revision between reconciles. */
import type { RevisionConfig, RevisionKey } from "../common/contracts/routing.ts";
import type { FiguresSample, RevisionFigures, RoutingStore } from "../store/types.ts";
import type { Decision } from "./core/decision.ts";
import { NO_POD_TIME } from "./core/pod-time.ts";
import type { PodTime } from "./core/pod-time.ts";
import { decodeState, emptyState } from "./core/scaler-state.ts";
import type { ScalerState, StateMark } from "./core/scaler-state.ts";
import type { ClusterDefaults } from "./core/settings/defaults.ts";
import type { SettingsResult } from "./core/settings/types.ts";
import { LoadHistory } from "./core/windows.ts";
import { DecisionLog, decodeRecords } from "./decision-log.ts";
import type { DecisionRecord, Trigger } from "./decision-log.ts";
import { createPodWatch } from "./pod-watch.ts";
import type { PodWatch } from "./pod-watch.ts";
import type { ScaledRevision, ScalerStatus } from "./ports.ts";

export interface RevisionMemory {
  readonly key: RevisionKey;
  history: LoadHistory;
  /** Samples of an earlier leader, until the first figures come. */
  earlierSamples: readonly FiguresSample[];
  state: ScalerState;
  readonly log: DecisionLog;
  /** Decisions that the store does not have yet. */
  readonly toKeep: DecisionRecord[];
  readonly watch: PodWatch;
  /** Settings as last read, and the object that they were read from. */
  settings: SettingsResult | null;
  readFrom: ScaledRevision | null;
  readText: string | null;
  defaults: ClusterDefaults | null;
  /** What the store was last told; `null` when it must be told again. */
  config: RevisionConfig | null;
  verifyConfig: boolean;
  status: ScalerStatus | null;
  decision: Decision | null;
  /** State as last written. */
  keptMark: StateMark | null;
  recordedAt: number;
  comparedAtMs: number;
  comparedPods: string;
  startTimeMs: number;
  startTimeReadAtMs: number;
  /** Uids evicted from routing whose pods are still to be replaced. */
  readonly toReplace: Set<string>;
  trigger: Trigger;
  lastWakeAtMs: number;
  readyPods: number;
  livePods: number;
  /** Ready pods by card. */
  cards: Readonly<Record<string, number>>;
  /** When a target last failed, ms; 0 for never. */
  lastFailureAtMs: number;
  /** What the tuner chose; undefined before its first choice. */
  tunedAlpha: number | undefined;
  /** Mean relative error of estimates on the worst card; null before any call. */
  estimateError: number | null;
  /** Stages whose estimates have been off for long, on any card. */
  stagesOff: number | null;
  clockSkewMs: number;
  podTime: PodTime;
  reconciledAtMs: number;
}

/** Reads what an earlier leader left: state, samples and decisions. */
export async function loadMemory(store: RoutingStore, key: RevisionKey): Promise<RevisionMemory> {
  const [text, samples, decisions] = await Promise.all([
    store.readScalerState(key),
    store.readSamples(key),
    store.readDecisions(key),
  ]);
  return {
    key,
    history: new LoadHistory(),
    earlierSamples: samples,
    state: decodeState(text) ?? emptyState(),
    log: new DecisionLog(decodeRecords(decisions, key)),
    toKeep: [],
    watch: createPodWatch(key),
    settings: null,
    readFrom: null,
    readText: null,
    defaults: null,
    config: null,
    verifyConfig: false,
    status: null,
    decision: null,
    keptMark: null,
    recordedAt: 0,
    comparedAtMs: Number.NEGATIVE_INFINITY,
    comparedPods: "",
    startTimeMs: 0,
    startTimeReadAtMs: Number.NEGATIVE_INFINITY,
    toReplace: new Set(),
    trigger: "resync",
    lastWakeAtMs: Number.NEGATIVE_INFINITY,
    readyPods: 0,
    livePods: 0,
    cards: {},
    lastFailureAtMs: 0,
    tunedAlpha: undefined,
    estimateError: null,
    stagesOff: null,
    clockSkewMs: 0,
    podTime: NO_POD_TIME,
    reconciledAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** Nothing runs, waits or is asked for, and nothing is left to be told or kept. */
export function isAtRest(memory: RevisionMemory): boolean {
  const explanation = memory.decision?.explanation;
  if (explanation === undefined || memory.verifyConfig || memory.toReplace.size > 0) return false;
  const { currentReplicas, replicas, livePods, busy, waiting, load } = explanation;
  const quiet = currentReplicas + replicas + livePods + busy + waiting + load.demand === 0;
  return quiet && memory.state.zeroSinceMs !== null;
}

/** Takes new figures into the history; totals that began anew begin a new record. */
export function takeFigures(
  memory: RevisionMemory,
  figures: RevisionFigures,
  windowMs: number,
): void {
  const { at, since, concurrencyIntegral, arrivals } = figures;
  const last = memory.history.last;
  if (last !== undefined && since > last.at) memory.history = new LoadHistory();
  const earlier = memory.earlierSamples.filter((sample) => sample.at >= since);
  memory.earlierSamples = [];
  const firstAt = earlier[0]?.at ?? at;
  // The totals are 0 at `since`: an exact first sample, where nothing says that it is too old.
  if (memory.history.size === 0 && since > 0 && firstAt - since < windowMs * 1_000) {
    memory.history.record({ at: since, concurrencyIntegral: 0, arrivals: 0 }, windowMs);
  }
  for (const sample of earlier) memory.history.record(sample, windowMs);
  memory.history.record({ at, concurrencyIntegral, arrivals }, windowMs);
}
