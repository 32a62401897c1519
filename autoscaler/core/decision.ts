/**
 * One decision for one revision: figures and pods in, replicas and the reasons out. Everything
 * that counts pods meets here, in the order in which it applies.
 */
import { nextActivation } from "./activation.ts";
import { activatorsForLoad, nextActivators } from "./activators.ts";
import { boundsOf, clampPods } from "./bounds.ts";
import type { Bounds } from "./bounds.ts";
import { shortWindowMs } from "./burst.ts";
import { isInitialised } from "./conditions.ts";
import { startFailure } from "./failures.ts";
import type { StartingPod } from "./failures.ts";
import { nextAgeingMs } from "./from-zero.ts";
import { decideKpa } from "./kpa/decide.ts";
import type { KpaExplanation } from "./kpa/decide.ts";
import { activatorsFor } from "./kpa/kpa.ts";
import { kpaParams } from "./kpa/params.ts";
import { withholdScaleDown } from "./nothing-rash.ts";
import { retainLastPod } from "./retention.ts";
import type { ScalerState } from "./scaler-state.ts";
import type { ClusterDefaults } from "./settings/defaults.ts";
import type { ScalingSettings } from "./settings/types.ts";
import { askForLoad } from "./want.ts";
import type { LoadWish } from "./want.ts";
import type { LoadHistory } from "./windows.ts";

export interface DecisionInputs {
  /** Time of the store, in ms; the same clock as the figures. */
  readonly nowMs: number;
  readonly settings: ScalingSettings;
  readonly defaults: ClusterDefaults;
  readonly reachable: boolean;
  readonly trafficShare: number | null;
  readonly serviceKnown: boolean;
  readonly history: LoadHistory;
  readonly resourcePercent: number | null;
  readonly busy: number;
  readonly waiting: number;
  readonly aged: number;
  readonly oldestArrivedAtMs: number;
  readonly readyPods: number;
  /** Pods that are not leaving. */
  readonly pods: readonly StartingPod[];
  readonly currentReplicas: number;
  /** Pods that this cell may run of it; null or absent: cells are no matter. */
  readonly cellCap?: number | null;
  /** Its cooldown queue is entered in place; everything else is replaced by `Decision.state`. */
  readonly state: ScalerState;
}

/** What kept the count from being what the load asks for. */
export type Limit =
  | "min-scale"
  | "max-scale"
  | "cell-share"
  | "starting"
  | "cooldown"
  | "window-not-seen"
  | "retention"
  | "failing-starts"
  | "unreachable";

export interface Explanation {
  readonly algorithm: ScalingSettings["algorithm"];
  readonly metric: ScalingSettings["metric"];
  readonly resourcePercent: number | null;
  readonly busy: number;
  readonly waiting: number;
  readonly aged: number;
  readonly readyPods: number;
  readonly livePods: number;
  readonly currentReplicas: number;
  readonly reachable: boolean;
  readonly windowSeen: boolean;
  readonly load: LoadWish;
  readonly bounds: Bounds;
  /** Before cooldown; -1 while stock knows nothing. */
  readonly want: number;
  readonly replicas: number;
  readonly limits: readonly Limit[];
  readonly kpa: KpaExplanation | null;
  /** Activators that serve the revision; absent in records of earlier versions. */
  readonly activators?: number;
}

export interface Decision {
  readonly replicas: number;
  /** Reported as desired scale; -1 while nothing is known. */
  readonly want: number;
  readonly state: ScalerState;
  /** Before this observation: the threshold of the Active condition is the one until then. */
  readonly wasInitialised: boolean;
  readonly explanation: Explanation;
  /** When to decide again, before the next tick; `null`: the tick is soon enough. */
  readonly comeBackInMs: number | null;
}

export function decide(inputs: DecisionInputs): Decision {
  const load = askFor(inputs);
  const state = observe(inputs, load);
  const bounds = currentBounds(inputs, state);
  const outcome =
    inputs.settings.algorithm === "kpa"
      ? followStock(inputs, state)
      : followPilot(inputs, state, { load, bounds });
  const replicas = Math.min(outcome.replicas, bounds.cap ?? Number.POSITIVE_INFINITY);
  const { nowMs, settings } = inputs;
  const needed = neededActivators(inputs, replicas);
  const activators = nextActivators(inputs.state.activators, needed, { ...settings, nowMs });
  const explanation = explain(inputs, { load, bounds, outcome: { ...outcome, replicas } });
  return {
    replicas,
    want: outcome.reported,
    state: { ...outcome.state, activators },
    wasInitialised: inputs.state.initialised,
    explanation: { ...explanation, activators: activators.count },
    comeBackInMs: earliest(outcome.comeBackInMs, nextAgeingMs(waitingFigures(inputs))),
  };
}

/** Pods count from when they are asked for, so activators are there before the requests are. */
function neededActivators(inputs: DecisionInputs, replicas: number): number {
  const { settings, defaults, reachable, readyPods, pods } = inputs;
  if (settings.algorithm === "kpa") {
    return activatorsFor(readyPods, kpaParams(settings, defaults, reachable));
  }
  const load = { ...inputs, ...settings, pods: Math.max(replicas, pods.length) };
  return activatorsForLoad(load, defaults.activatorCapacity);
}

interface Outcome {
  readonly replicas: number;
  readonly want: number;
  readonly reported: number;
  readonly state: ScalerState;
  readonly limits: readonly Limit[];
  readonly comeBackInMs: number | null;
  readonly kpa: KpaExplanation | null;
}

function askFor(inputs: DecisionInputs): LoadWish {
  const { history, settings } = inputs;
  return askForLoad({
    ...inputs,
    settings: inputs.reachable
      ? settings
      : { ...settings, buffer: { kind: "pods", pods: 0 }, activationScale: 0 },
    targetDefaults: inputs.defaults,
    mean: history.mean(settings.windowMs, settings.aggregation),
    shortMean: history.mean(shortWindowMs(settings), settings.aggregation),
    livePods: inputs.pods.length,
    lastBurstAtMs: inputs.state.lastBurstAtMs,
  });
}

/** What this observation changes in memory, before anything is decided. */
function observe(inputs: DecisionInputs, load: LoadWish): ScalerState {
  const { settings, state } = inputs;
  const initialised = isInitialised({
    initialised: state.initialised,
    ready: inputs.readyPods,
    minScale: settings.minScale,
    initialScale: settings.initialScale,
    reachable: inputs.reachable,
    serviceKnown: inputs.serviceKnown,
  });
  const activation = nextActivation({
    ...inputs,
    before: state.activation,
    livePods: inputs.pods.length,
    initialised,
    demand: load.demand,
    progressDeadlineMs: settings.progressDeadlineMs,
  });
  const hasStarted = state.activation !== null && inputs.readyPods > 0;
  const startedAtMs = hasStarted ? inputs.nowMs : state.startedAtMs;
  const failure = startFailure({ ...inputs, before: state.failure });
  const seen = { initialised, activation, startedAtMs, failure };
  return { ...state, ...seen, lastBurstAtMs: load.lastBurstAtMs };
}

function currentBounds(inputs: DecisionInputs, state: ScalerState): Bounds {
  const mayStillStart = state.activation?.exceeded !== true;
  const pending = inputs.currentReplicas > 0 || inputs.pods.length > 0;
  const { cellCap = null } = inputs;
  const bounds = boundsOf({
    settings: inputs.settings,
    reachable: inputs.reachable,
    scaleToZero: inputs.defaults.enableScaleToZero,
    initialising: !state.initialised && mayStillStart,
    activating: state.activation !== null && mayStillStart && pending,
    fresh: isFresh(inputs, state),
    trafficShare: inputs.trafficShare,
  });
  return cellCap === null ? bounds : { ...bounds, cap: cellCap };
}

/** A pod that took longer than the window to start would have been idle for one when it is ready. */
function isFresh({ nowMs, settings }: DecisionInputs, { startedAtMs }: ScalerState): boolean {
  return startedAtMs !== null && nowMs - startedAtMs < settings.windowMs;
}

function followPilot(
  inputs: DecisionInputs,
  state: ScalerState,
  given: { readonly load: LoadWish; readonly bounds: Bounds },
): Outcome {
  const { bounds, load } = given;
  const want = clampPods(load.asked, bounds);
  const limits: Limit[] = [];
  const note = (limit: Limit, before: number, after: number): number => {
    if (before !== after) limits.push(limit);
    return after;
  };
  note(want > load.asked ? lowerLimit(state, inputs) : upperLimit(bounds), load.asked, want);
  const cooled = note("cooldown", want, coolDown(inputs, want));
  const bounded = note(upperLimit(bounds), cooled, clampPods(cooled, bounds));
  const calm = note(
    "window-not-seen",
    bounded,
    withholdScaleDown({
      desired: bounded,
      currentReplicas: inputs.currentReplicas,
      windowSeen: inputs.history.covers(inputs.settings.windowMs),
      max: bounds.max,
    }),
  );
  const retained = retainLastPod({
    ...inputs,
    desired: calm,
    retentionMs: inputs.reachable ? inputs.settings.lastPodRetentionMs : 0,
    zeroSinceMs: state.zeroSinceMs,
  });
  const kept = note("retention", calm, retained.desired);
  const replicas = note("failing-starts", kept, state.failure === null ? kept : Math.min(kept, 1));
  return {
    replicas,
    want,
    reported: replicas,
    state: { ...state, zeroSinceMs: retained.zeroSinceMs, kpa: null, resumedWant: null },
    limits,
    comeBackInMs: null,
    kpa: null,
  };
}

function upperLimit({ max, cap }: Bounds): Limit {
  return cap !== undefined && (max === 0 || cap < max) ? "cell-share" : "max-scale";
}

function lowerLimit(state: ScalerState, inputs: DecisionInputs): Limit {
  if (inputs.settings.minScale > 0) return "min-scale";
  if (state.activation !== null && !state.activation.exceeded) return "starting";
  return isFresh(inputs, state) ? "window-not-seen" : "min-scale";
}

function coolDown(inputs: DecisionInputs, want: number): number {
  const { cooldown, resumedWant } = inputs.state;
  // Lost values: what runs now counts as wanted once, so a restart never shortens a cooldown.
  const entered = cooldown.isEmpty ? inputs.currentReplicas : resumedWant;
  if (entered !== null) cooldown.enter(inputs.nowMs, entered);
  cooldown.enter(inputs.nowMs, want);
  if (!inputs.reachable) return want;
  return cooldown.desired(inputs.nowMs, inputs.settings.cooldownMs);
}

function followStock(inputs: DecisionInputs, state: ScalerState): Outcome {
  const decision = decideKpa({
    ...inputs,
    initialised: state.initialised,
    inFlight: inputs.busy + inputs.waiting,
    state: state.kpa,
    active: state.conditions.find((condition) => condition.type === "Active"),
  });
  // Entered all the same, so that a change of algorithm finds a past.
  state.cooldown.enter(inputs.nowMs, Math.max(0, decision.want));
  const capped = state.failure === null ? decision.replicas : Math.min(decision.replicas, 1);
  return {
    replicas: capped,
    want: decision.want,
    reported: decision.want,
    state: { ...state, kpa: decision.state, resumedWant: null },
    limits: capped === decision.replicas ? [] : ["failing-starts"],
    comeBackInMs: decision.comeBackInMs,
    kpa: decision.explanation,
  };
}

function explain(
  inputs: DecisionInputs,
  parts: { readonly load: LoadWish; readonly bounds: Bounds; readonly outcome: Outcome },
): Explanation {
  const { settings, history } = inputs;
  const { outcome } = parts;
  return {
    algorithm: settings.algorithm,
    metric: settings.metric,
    resourcePercent: inputs.resourcePercent,
    busy: inputs.busy,
    waiting: inputs.waiting,
    aged: inputs.aged,
    readyPods: inputs.readyPods,
    livePods: inputs.pods.length,
    currentReplicas: inputs.currentReplicas,
    reachable: inputs.reachable,
    windowSeen: history.covers(settings.windowMs),
    load: parts.load,
    bounds: parts.bounds,
    want: outcome.want,
    replicas: outcome.replicas,
    limits: inputs.reachable ? outcome.limits : [...outcome.limits, "unreachable"],
    kpa: outcome.kpa,
  };
}

function waitingFigures(inputs: DecisionInputs): Parameters<typeof nextAgeingMs>[0] {
  return { ...inputs, scaleUpDelayMs: inputs.settings.scaleUpDelayMs };
}

function earliest(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}
