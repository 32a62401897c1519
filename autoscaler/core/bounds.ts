/** Lower and upper bound of a revision at this moment. */
import { ceilPods } from "./rounding.ts";
import type { ScalingSettings } from "./settings/types.ts";

export interface BoundsInputs {
  readonly settings: Pick<
    ScalingSettings,
    "minScale" | "maxScale" | "initialScale" | "serviceMinScale"
  >;
  readonly reachable: boolean;
  readonly scaleToZero: boolean;
  /** The revision has not shown its initial scale yet, and may still. */
  readonly initialising: boolean;
  /** Pods were asked for, none was ready so far, and the progress deadline has not passed. */
  readonly activating: boolean;
  /** It became ready less than a window ago: its idle time begins with that. */
  readonly fresh: boolean;
  /** Share of the service's traffic, 0 to 1; `null` when unknown. */
  readonly trafficShare: number | null;
}

export interface Bounds {
  readonly min: number;
  /** 0 means no limit. */
  readonly max: number;
  /** What this cell may run of the service, which may be nothing; absent: it runs in one cell. */
  readonly cap?: number;
}

export function boundsOf(inputs: BoundsInputs): Bounds {
  const max = inputs.settings.maxScale;
  if (!inputs.reachable) return { min: 0, max };
  const { settings } = inputs;
  const floors = [
    settings.minScale,
    inputs.scaleToZero ? 0 : 1,
    inputs.initialising ? settings.initialScale : 0,
    inputs.activating || inputs.fresh ? 1 : 0,
    serviceShare(settings.serviceMinScale, inputs.trafficShare),
  ];
  return { min: Math.max(...floors), max };
}

/** Min first, then max: where they contradict each other, max wins. */
export function clampPods(pods: number, bounds: Bounds): number {
  const raised = Math.max(pods, bounds.min);
  const limited = bounds.max > 0 ? Math.min(raised, bounds.max) : raised;
  return bounds.cap === undefined ? limited : Math.min(limited, bounds.cap);
}

/** A service's lower bound is divided by traffic, so that a rollout needs one pod more at most. */
function serviceShare(serviceMin: number | null, share: number | null): number {
  return serviceMin === null ? 0 : ceilPods(serviceMin * (share ?? 1));
}
