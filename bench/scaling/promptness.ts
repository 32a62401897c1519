/**
 * When the needed pods are asked for, ours against `kpa`: both see the same load (the requests of a
 * trace as if each were served at once) and the same ready pods, at equal settings. Wherever `kpa`
 * settles higher (a count that it holds for a whole window), ours must have asked for that many by then.
 */
import { decide } from "../../autoscaler/core/decision.ts";
import { PLATFORM_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import { readSettings } from "../../autoscaler/core/settings/settings.ts";
import { emptyState } from "../../autoscaler/core/scaler-state.ts";
import { LoadHistory } from "../../autoscaler/core/windows.ts";
import type { ScalingAlgorithm } from "../../common/contracts/annotations.ts";
import { ownKey } from "../../common/contracts/annotations.ts";
import type { Arrival } from "../../autoscaler/simulator/scaling/types.ts";
import type { NamedTrace } from "./traces.ts";

const TICK_MS = 2_000;
const WINDOW_MS = PLATFORM_DEFAULTS.stableWindowMs;
const DEFAULTS = { ...PLATFORM_DEFAULTS, maxScale: 0 };

/** Pods asked for after each tick. */
type Track = readonly number[];

export interface Promptness {
  readonly trace: string;
  /** Rises at the end of which `kpa` settled. */
  readonly rises: number;
  readonly later: number;
  /** Ours before theirs, in seconds, on average over the rises. */
  readonly meanLeadSeconds: number;
}

export function promptness({ name, arrivals }: NamedTrace): Promptness {
  const tracks = { pilot: [] as number[], kpa: [] as number[] };
  const deciders = { pilot: createDecider("pilot"), kpa: createDecider("kpa") };
  for (const load of loadsOf(arrivals)) {
    const readyPods = tracks.kpa.at(-1) ?? 0;
    tracks.pilot.push(deciders.pilot(load, readyPods));
    tracks.kpa.push(deciders.kpa(load, readyPods));
  }
  const leads = settledRises(tracks.kpa).map((rise) => leadOf(tracks.pilot, rise));
  return {
    trace: name,
    rises: leads.length,
    later: leads.filter((lead) => lead < 0).length,
    meanLeadSeconds: leads.reduce((sum, lead) => sum + lead, 0) / Math.max(1, leads.length),
  };
}

interface Load {
  readonly atMs: number;
  readonly integralMs: number;
  readonly arrivals: number;
  readonly busy: number;
}

/** The load at each tick, with a silent window before and after. */
function loadsOf(arrivals: readonly Arrival[]): readonly Load[] {
  const changes = arrivals
    .flatMap(({ atMs, serviceMs }) => [
      { atMs, step: 1 },
      { atMs: atMs + serviceMs, step: -1 },
    ])
    .toSorted((left, right) => left.atMs - right.atMs);
  const endMs = (changes.at(-1)?.atMs ?? 0) + 2 * WINDOW_MS;
  const loads: Load[] = [];
  let [index, busy, arrived, integralMs, lastMs] = [0, 0, 0, 0, 0];
  for (let atMs = TICK_MS; atMs <= endMs; atMs += TICK_MS) {
    for (let change = changes[index]; change !== undefined && change.atMs <= atMs;) {
      integralMs += busy * (change.atMs - lastMs);
      lastMs = change.atMs;
      busy += change.step;
      arrived += Math.max(0, change.step);
      index += 1;
      change = changes[index];
    }
    integralMs += busy * (atMs - lastMs);
    lastMs = atMs;
    loads.push({ atMs, integralMs, arrivals: arrived, busy });
  }
  return loads;
}

function createDecider(algorithm: ScalingAlgorithm): (load: Load, readyPods: number) => number {
  const annotations = { [ownKey("algorithm")]: algorithm };
  const { settings } = readSettings(
    { annotations, containerConcurrency: 1, requestsGpu: true },
    DEFAULTS,
  );
  const history = new LoadHistory([{ at: 0, concurrencyIntegral: 0, arrivals: 0 }]);
  let state = { ...emptyState(), initialised: true };
  return ({ atMs, integralMs, arrivals, busy }, readyPods) => {
    const totals = { at: atMs * 1_000, concurrencyIntegral: integralMs * 1_000, arrivals };
    history.record(totals, settings.windowMs);
    const decision = decide({
      nowMs: atMs,
      settings,
      defaults: DEFAULTS,
      reachable: true,
      trafficShare: null,
      serviceKnown: true,
      history,
      resourcePercent: null,
      busy,
      waiting: 0,
      aged: 0,
      oldestArrivedAtMs: 0,
      readyPods,
      pods: Array.from({ length: readyPods }, (_, pod) => ({ uid: String(pod), failure: null })),
      // The count itself is compared: nothing is held back because of what runs.
      currentReplicas: 0,
      state,
    });
    state = decision.state;
    return Math.max(0, decision.explanation.kpa?.desired ?? decision.replicas);
  };
}

interface Rise {
  readonly fromTick: number;
  readonly atTick: number;
  readonly pods: number;
}

function settledRises(track: Track): readonly Rise[] {
  const rises: Rise[] = [];
  let settled = { untilTick: 0, pods: 0 };
  for (let start = 0, tick = 1; tick <= track.length; tick += 1) {
    const pods = track[start] ?? 0;
    if (track[tick] === pods) continue;
    if ((tick - start) * TICK_MS >= WINDOW_MS) {
      if (pods > settled.pods) rises.push({ fromTick: settled.untilTick, atTick: start, pods });
      settled = { untilTick: tick - 1, pods };
    }
    start = tick;
  }
  return rises;
}

/** Seconds by which ours had the count of a rise before stock had; negative: later, or never. */
function leadOf(track: Track, { fromTick, atTick, pods }: Rise): number {
  const reached = track.findIndex((count, tick) => tick >= fromTick && count >= pods);
  return reached < 0 ? -WINDOW_MS / 1_000 : ((atTick - reached) * TICK_MS) / 1_000;
}
