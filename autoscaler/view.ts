/** The autoscaler as the dashboard, the metrics page and `explain` read it; a copy, never live. */
import type { ActivationFailure, RevisionKey } from "../common/contracts/routing.ts";
import { INITIAL_ALPHA } from "../common/hexgen/alpha.ts";
import type { Condition } from "./core/condition-types.ts";
import type { Explanation } from "./core/decision.ts";
import type { PodTime } from "./core/pod-time.ts";
import type { RevisionSettings, SettingsResult } from "./core/settings/types.ts";
import type { RevisionMemory } from "./revision-memory.ts";
import { joinTotals } from "./totals.ts";
import type { ScalingTotals } from "./totals.ts";

export interface RevisionScaling {
  readonly key: RevisionKey;
  readonly settings: RevisionSettings | null;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** -1 while nothing is known. */
  readonly desiredScale: number;
  readonly readyPods: number;
  readonly livePods: number;
  /** Activators that serve it; null before the first decision. */
  readonly activators: number | null;
  /** Weight of speed in force, and the error of estimates on the worst card; null: not ranked. */
  readonly alpha: number | null;
  readonly estimateError: number | null;
  readonly stagesOff: number | null;
  readonly failure: ActivationFailure | null;
  readonly conditions: readonly Condition[];
  readonly explanation: Explanation | null;
  /** Pods by what they do at present, and what they did so far, in pod seconds. */
  readonly podTime: PodTime;
  /** Our clock less the store's at the last read, ms. */
  readonly clockSkewMs: number;
  /** Time of the store of the last figures, ms; 0 before any. */
  readonly figuresAt: number;
}

export interface AutoscalerView {
  readonly at: number;
  readonly revisions: readonly RevisionScaling[];
  readonly totals: ScalingTotals;
  readonly queueDepth: number;
  /** Revisions whose last reconcile failed. */
  readonly failing: number;
}

export function viewOf(
  memories: ReadonlyMap<RevisionKey, RevisionMemory>,
  rest: Omit<AutoscalerView, "revisions">,
): AutoscalerView {
  return { ...rest, revisions: [...memories.values()].map(revisionView) };
}

/** The views of the shards that one process leads, as one. */
export function joinViews(views: readonly AutoscalerView[], at: number): AutoscalerView {
  const sum = (value: (view: AutoscalerView) => number): number =>
    views.reduce((total, view) => total + value(view), 0);
  return {
    at,
    revisions: views.flatMap(({ revisions }) => revisions),
    totals: joinTotals(views.map(({ totals }) => totals)),
    queueDepth: sum(({ queueDepth }) => queueDepth),
    failing: sum(({ failing }) => failing),
  };
}

function revisionView(memory: RevisionMemory): RevisionScaling {
  return {
    key: memory.key,
    ...settingsView(memory.settings),
    desiredScale: memory.status?.desiredScale ?? -1,
    readyPods: memory.readyPods,
    livePods: memory.livePods,
    activators: activatorsOf(memory),
    alpha: memory.config?.policy === "speed-aware" ? (memory.config.alpha ?? INITIAL_ALPHA) : null,
    estimateError: memory.estimateError,
    stagesOff: memory.stagesOff,
    failure: memory.state.failure,
    conditions: memory.state.conditions,
    explanation: memory.decision?.explanation ?? null,
    podTime: memory.podTime,
    clockSkewMs: memory.clockSkewMs,
    figuresAt: (memory.history.last?.at ?? 0) / 1_000,
  };
}

function activatorsOf({ state }: RevisionMemory): number | null {
  return state.activators?.count ?? null;
}

function settingsView(
  read: SettingsResult | null,
): Pick<RevisionScaling, "settings" | "errors" | "warnings"> {
  return read ?? { settings: null, errors: [], warnings: [] };
}
