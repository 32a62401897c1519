/**
 * The stock stable and panic algorithm, number for number (Knative Serving 1.23), for those who
 * choose `pilotlight.dev/algorithm: kpa` and as the yardstick of our own.
 */
import { recordDelay } from "./delay-window.ts";
import type { DelayEntry } from "./delay-window.ts";
import type { KpaParams } from "./params.ts";

/** Kept between ticks and across restarts. */
export interface KpaState {
  /** Second at which panic began or was last extended; `null` while calm. */
  readonly panicSince: number | null;
  readonly maxPanicPods: number;
  readonly delay: readonly DelayEntry[];
}

export interface KpaObserved {
  readonly nowSeconds: number;
  readonly readyPods: number;
  readonly stable: number;
  readonly panic: number;
}

export interface KpaResult {
  readonly state: KpaState;
  readonly desired: number;
  readonly excessBurstCapacity: number;
}

/** More than one ready pod at creation means a restart under load: it starts in panic. */
export function createKpaState(readyPods: number, nowSeconds: number): KpaState {
  return {
    panicSince: readyPods > 1 ? nowSeconds : null,
    maxPanicPods: readyPods,
    delay: [],
  };
}

export function evaluateKpa(params: KpaParams, observed: KpaObserved, before: KpaState): KpaResult {
  const ready = Math.max(1, observed.readyPods);
  const [stablePods, panicPods] = steppedPods(params, observed, ready);
  const rawPanic = Math.ceil(observed.panic / params.targetValue);
  const over = rawPanic / ready >= params.panicThreshold;
  const panicSince = nextPanicSince(params, observed.nowSeconds, before.panicSince, over);
  let desired = stablePods;
  let maxPanicPods = panicSince === null && before.panicSince !== null ? 0 : before.maxPanicPods;
  if (panicSince !== null) {
    maxPanicPods = Math.max(maxPanicPods, stablePods, panicPods);
    desired = maxPanicPods;
  }
  const delayed = delay(params, observed.nowSeconds, desired, before.delay);
  return {
    state: { panicSince, maxPanicPods, delay: delayed.entries },
    desired: delayed.current,
    excessBurstCapacity: excessBurstCapacity(params, observed),
  };
}

/** Wanted pods of the calm and of the short mean, within the limits of one step. */
function steppedPods(
  params: KpaParams,
  observed: KpaObserved,
  ready: number,
): [stable: number, panic: number] {
  const up = Math.ceil(params.maxScaleUpRate * ready);
  const down = params.reachable ? Math.floor(ready / params.maxScaleDownRate) : 0;
  const step = (average: number): number => {
    const raw = Math.ceil(average / params.targetValue);
    const stepped = Math.min(Math.max(raw, down), up);
    const activates = params.activationScale > 1 && raw > 0;
    return activates ? Math.max(stepped, params.activationScale) : stepped;
  };
  return [step(observed.stable), step(observed.panic)];
}

function nextPanicSince(
  params: KpaParams,
  now: number,
  since: number | null,
  over: boolean,
): number | null {
  if (over) return now;
  if (since !== null && now > since + params.stableWindowSeconds) return null;
  return since;
}

function delay(
  params: KpaParams,
  now: number,
  desired: number,
  entries: readonly DelayEntry[],
): { entries: readonly DelayEntry[]; current: number } {
  if (!params.reachable || params.scaleDownDelaySeconds <= 0) return { entries, current: desired };
  return recordDelay(entries, now, desired, params.scaleDownDelaySeconds);
}

function excessBurstCapacity(params: KpaParams, observed: KpaObserved): number {
  const tbc = params.targetBurstCapacity;
  if (tbc < 0) return -1;
  if (tbc === 0) return 0;
  return Math.floor(observed.readyPods * params.totalValue - tbc - observed.panic);
}

/** What holds from creation until the first valid evaluation. */
export function initialDecision(
  params: Pick<KpaParams, "targetBurstCapacity" | "initialScale" | "totalValue">,
): { readonly desired: -1; readonly excessBurstCapacity: number } {
  const { targetBurstCapacity: tbc, initialScale, totalValue } = params;
  const excess = tbc === -1 || tbc === 0 ? tbc : Math.trunc(initialScale * totalValue - tbc);
  return { desired: -1, excessBurstCapacity: excess };
}

/** How many activators a revision is given (`numActivators` of its ServerlessService). */
export function activatorsFor(
  readyPods: number,
  params: Pick<KpaParams, "totalValue" | "targetBurstCapacity" | "activatorCapacity">,
): number {
  const { totalValue, targetBurstCapacity: tbc, activatorCapacity } = params;
  if (tbc === 0) return 2;
  const load = readyPods * totalValue + Math.max(tbc, 0);
  return Math.max(2, Math.ceil(load / activatorCapacity));
}
