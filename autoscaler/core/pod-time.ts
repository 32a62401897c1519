/**
 * What the pods of a revision spent their time on, which is what its GPUs cost: summed from one look
 * to the next, each span counted as the earlier look found it.
 */
import type { TargetState } from "../../common/contracts/routing.ts";

export const POD_USES = ["serving", "idle", "warming", "draining", "lost"] as const;
export type PodUse = (typeof POD_USES)[number];

export interface PodTime {
  /** Instant of the last look in ms of the store; `null` before any. */
  readonly atMs: number | null;
  readonly podsByUse: Readonly<Record<PodUse, number>>;
  readonly secondsByUse: Readonly<Record<PodUse, number>>;
}

export interface PodLook {
  readonly nowMs: number;
  readonly targetsByState: Readonly<Record<TargetState, number>>;
  readonly busy: number;
  readonly containerConcurrency: number;
  /** Pods that are not leaving, known to routing or not. */
  readonly livePods: number;
}

/** A span longer than this was not watched, e.g. while nobody led: it counts for nothing. */
const LONGEST_SPAN_MS = 30_000;
const NONE: Readonly<Record<PodUse, number>> = {
  serving: 0,
  idle: 0,
  warming: 0,
  draining: 0,
  lost: 0,
};

export const NO_POD_TIME: PodTime = { atMs: null, podsByUse: NONE, secondsByUse: NONE };

export function addPodTime(before: PodTime, look: PodLook): PodTime {
  const spanMs = before.atMs === null ? 0 : look.nowMs - before.atMs;
  const seconds = spanMs > 0 && spanMs <= LONGEST_SPAN_MS ? spanMs / 1_000 : 0;
  const sum = (use: PodUse): number => before.secondsByUse[use] + before.podsByUse[use] * seconds;
  return {
    atMs: look.nowMs,
    podsByUse: podsByUse(look),
    secondsByUse: {
      serving: sum("serving"),
      idle: sum("idle"),
      warming: sum("warming"),
      draining: sum("draining"),
      lost: sum("lost"),
    },
  };
}

function podsByUse(look: PodLook): Readonly<Record<PodUse, number>> {
  const { ready, starting, unready, suspected, quarantined, draining } = look.targetsByState;
  const serving = Math.min(ready, podsForSlots(look));
  const lost = unready + suspected + quarantined;
  // A pod that has not said a word yet is known to the platform only.
  const silent = Math.max(0, look.livePods - ready - starting - lost);
  return { serving, idle: ready - serving, warming: starting + silent, draining, lost };
}

/** Fewest pods that hold the busy slots; exact where a pod runs one request at a time. */
function podsForSlots({ busy, containerConcurrency, targetsByState }: PodLook): number {
  if (busy === 0) return 0;
  return containerConcurrency === 0 ? targetsByState.ready : Math.ceil(busy / containerConcurrency);
}
