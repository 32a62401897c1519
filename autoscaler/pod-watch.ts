/**
 * Differences between two looks at a revision, as events for others. The first look after a start
 * only learns what is there: an autoscaler that restarts announces nothing twice.
 */
import type { ScalingEventType } from "../common/contracts/events.ts";
import type { RevisionKey, TargetView } from "../common/contracts/routing.ts";
import type { PlatformEvent } from "../foundation/events.ts";
import type { RoutingStore } from "../store/types.ts";
import type { DecisionRecord } from "./decision-log.ts";
import type { Observation } from "./observation.ts";
import type { ScaledPod } from "./ports.ts";

export interface PodWatch {
  /** Events since the last look, in the order in which a pod lives. */
  look(
    observed: Pick<Observation, "figures" | "pods">,
    store: Pick<RoutingStore, "readTargets">,
  ): Promise<readonly PlatformEvent[]>;
}

export function createPodWatch(key: RevisionKey): PodWatch {
  let ready: ReadonlyMap<string, boolean> | null = null;
  let quarantined: ReadonlySet<string> = new Set();
  let evicted: readonly string[] = [];

  return {
    look: async ({ figures, pods }, store) => {
      const event = eventMaker(key, figures.at / 1_000);
      const [before, known, named] = [ready, quarantined, evicted];
      const now = await quarantinedTargets(key, figures.targetsByState.quarantined, store, known);
      ready = new Map(pods.map((pod) => [pod.uid, pod.phase === "ready"]));
      quarantined = new Set(now.keys());
      evicted = figures.evicted;
      const events = before === null ? [] : pods.flatMap((pod) => podEvents(pod, before, event));
      for (const [uid, target] of now) {
        if (known.has(uid) || target === null || before === null) continue;
        const { podName: name, reason } = target;
        events.push(event("dev.pilotlight.target.quarantined", { pod: uid, name, reason }));
      }
      // The store names an evicted target until a recording read has taken the list.
      const gone = evicted.filter((pod) => !named.includes(pod));
      return [...events, ...gone.map((pod) => event("dev.pilotlight.target.evicted", { pod }))];
    },
  };
}

/** Events of one decision; none where nothing changes. */
export function scaleEvents(record: DecisionRecord): readonly PlatformEvent[] {
  const { key, at, from, to, trigger, reason, explanation } = record;
  if (from === to) return [];
  const event = eventMaker(key, at);
  const data = { from, to, trigger, reason, explanation };
  const changed = event("dev.pilotlight.scale.changed", data);
  return to > 0 ? [changed] : [changed, event("dev.pilotlight.scale.zero", { from, reason })];
}

type EventMaker = (
  type: ScalingEventType,
  data: Readonly<Record<string, unknown>>,
) => PlatformEvent;

function eventMaker(key: RevisionKey, at: number): EventMaker {
  return (type, data) => ({ type, subject: key, at, data });
}

function podEvents(
  pod: ScaledPod,
  before: ReadonlyMap<string, boolean>,
  event: EventMaker,
): PlatformEvent[] {
  const { uid, name, card } = pod;
  const wasReady = before.get(uid);
  const events: PlatformEvent[] = [];
  if (wasReady === undefined) {
    events.push(event("dev.pilotlight.pod.started", { pod: uid, name, card }));
  }
  if (pod.phase === "ready" && wasReady !== true) {
    const made = event("dev.pilotlight.pod.ready", { pod: uid, name, card });
    const startMs = Math.max(0, Math.round(made.at - pod.createdAt));
    events.push({ ...made, data: { ...made.data, startMs } });
  }
  return events;
}

/** The targets are read only when the count is not that of those known. */
async function quarantinedTargets(
  key: RevisionKey,
  count: number,
  store: Pick<RoutingStore, "readTargets">,
  known: ReadonlySet<string>,
): Promise<ReadonlyMap<string, TargetView | null>> {
  if (count === 0) return new Map();
  if (count === known.size) return new Map([...known].map((uid) => [uid, null]));
  const targets = await store.readTargets(key);
  const left = targets.filter((target) => target.state === "quarantined");
  return new Map(left.map((target) => [target.uid, target]));
}
