/**
 * What went wrong with a revision's pods as Kubernetes Events on its PodAutoscaler and its Service,
 * where `kubectl describe` shows them: starts that fail or wait for a node, targets in quarantine,
 * pods that were replaced. The same fault is said once in five minutes, and a revision has few words.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../common/clock.ts";
import { errorText } from "../../common/errors.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { ScaledPod } from "../ports.ts";
import type { Timers } from "../timers.ts";
import type { ApiClient } from "./api-client.ts";
import type { Collection } from "./collection.ts";
import { keyOf, SERVICE_LABEL, splitKey } from "./objects.ts";
import type { KnativeService, KubeObject, PodAutoscaler } from "./objects.ts";
import type { PodIndex } from "./pod-index.ts";

export interface EventNotesOptions {
  readonly client: ApiClient;
  readonly scalers: Collection<PodAutoscaler>;
  readonly services: Collection<KnativeService>;
  readonly pods: Pick<PodIndex, "list" | "find" | "onPodsChanged">;
  readonly mayAct: (key: RevisionKey) => boolean;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** The controller's own events, as others get them. */
export interface ToldEvent {
  readonly type: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Fault {
  readonly reason: string;
  readonly message: string;
  /** The pod, where each one counts by itself. */
  readonly pod?: string;
}

interface Noted {
  /** Of the event at each object. */
  readonly name: string;
  readonly firstAt: number;
  count: number;
  writtenAt: number;
}

/** Pods change in bursts. */
const GATHER_MS = 1_000;
const REPEAT_MS = 300_000;
/** Faults remembered, the oldest given up first. */
const MOST_NOTED = 4_096;
/** Of one revision at once, and how long until it may say one more. */
const MOST_AT_ONCE = 25;
const REFILL_MS = 60_000;
const MOST_MESSAGE = 1_024;
const COMPONENT = "pilotlight-autoscaler";

export class EventNotes {
  readonly #options: EventNotesOptions;
  readonly #changed = new Set<RevisionKey>();
  readonly #noted = new Map<string, Noted>();
  readonly #spent = new Map<RevisionKey, { spent: number; at: number }>();
  #cancel: (() => void) | undefined;

  constructor(options: EventNotesOptions) {
    this.#options = options;
    options.pods.onPodsChanged((key) => this.#gather(key));
  }

  /** What the controller tells others; quarantine and eviction are for people too. */
  emit({ type, subject, data }: ToldEvent): void {
    // Subjects of these are keys of revisions.
    const key = subject as RevisionKey;
    const uid = textOf(data["pod"]);
    const known = this.#options.pods.find(key, uid)?.metadata.name;
    const pod = known ?? (textOf(data["name"]) || uid);
    if (type === "dev.pilotlight.target.quarantined") {
      const message = `Pod ${pod} gets no requests for now: ${textOf(data["reason"])}`;
      void this.#note(key, { reason: "TargetQuarantined", message, pod });
    } else if (type === "dev.pilotlight.target.evicted") {
      const message = `Pod ${pod} did not recover in time and is replaced`;
      void this.#note(key, { reason: "TargetEvicted", message, pod });
    }
  }

  stop(): void {
    this.#cancel?.();
  }

  #gather(key: RevisionKey): void {
    this.#changed.add(key);
    this.#cancel ??= this.#options.timers.after(GATHER_MS, () => {
      this.#cancel = undefined;
      for (const changed of this.#changed) this.#look(changed);
      this.#changed.clear();
    });
  }

  #look(key: RevisionKey): void {
    if (!this.#options.mayAct(key)) return;
    const faults = this.#options.pods.list(key).map(startFault);
    for (const fault of faults) if (fault !== null) void this.#note(key, fault);
  }

  async #note(key: RevisionKey, fault: Fault): Promise<void> {
    const { client, clock, logger } = this.#options;
    const objects = this.#about(key);
    // Nothing to say it of, so nothing that counts as said: the watch may be late.
    if (objects.length === 0) return;
    const noted = this.#due(key, fault, clock.now());
    if (noted === null) return;
    const { namespace } = splitKey(key);
    const path = `/api/v1/namespaces/${namespace}/events`;
    for (const object of objects) {
      const body = eventObject(object, fault, noted);
      try {
        if (noted.count === 1) await client.write({ method: "POST", path, body });
        else await patchEvent(client, `${path}/${body.metadata.name}`, body);
      } catch (error) {
        logger.debug("event not written", { key, error: errorText(error) });
      }
    }
  }

  /** Null where the same was said of late, or the revision has said enough. */
  #due(key: RevisionKey, { reason, pod = "" }: Fault, now: number): Noted | null {
    const id = `${key} ${reason} ${pod}`;
    const known = this.#noted.get(id);
    if (known !== undefined && now - known.writtenAt < REPEAT_MS) return null;
    if (!this.#maySpend(key, now)) return null;
    const fresh = { name: randomBytes(6).toString("hex"), firstAt: now, count: 0, writtenAt: now };
    const noted = known ?? fresh;
    noted.count += 1;
    noted.writtenAt = now;
    this.#noted.delete(id);
    this.#noted.set(id, noted);
    forgetOldest(this.#noted);
    return noted;
  }

  #maySpend(key: RevisionKey, now: number): boolean {
    const { spent, at } = this.#spent.get(key) ?? { spent: 0, at: now };
    const left = Math.max(0, spent - (now - at) / REFILL_MS);
    if (left > MOST_AT_ONCE - 1) return false;
    this.#spent.delete(key);
    this.#spent.set(key, { spent: left + 1, at: now });
    forgetOldest(this.#spent);
    return true;
  }

  #about(key: RevisionKey): readonly KubeObject[] {
    const scaler = this.#options.scalers.get(key);
    if (scaler === undefined) return [];
    const service = scaler.metadata.labels?.[SERVICE_LABEL] ?? "";
    const { namespace } = splitKey(key);
    const owner = this.#options.services.get(keyOf(namespace, service));
    const kind = { apiVersion: "autoscaling.internal.knative.dev/v1alpha1", kind: "PodAutoscaler" };
    const ownerKind = { apiVersion: "serving.knative.dev/v1", kind: "Service" };
    const objects = [{ ...kind, metadata: scaler.metadata }];
    return owner === undefined ? objects : [...objects, { ...ownerKind, metadata: owner.metadata }];
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function startFault({ failure, waitingFor }: ScaledPod): Fault | null {
  if (failure !== null) return { reason: failure.reason, message: failure.message };
  // The scheduler has looked and found none; before that it has just not looked yet.
  if (!waitingFor.startsWith("waiting for a node (")) return null;
  return { reason: "WaitingForNode", message: waitingFor };
}

function eventObject(object: KubeObject, fault: Fault, noted: Noted): KubeObject {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid } = metadata;
  const instant = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${noted.name}`, ...(namespace === undefined ? {} : { namespace }) },
    involvedObject: { apiVersion, kind, namespace, name, uid },
    type: "Warning",
    reason: fault.reason,
    message: fault.message.slice(0, MOST_MESSAGE),
    source: { component: COMPONENT },
    firstTimestamp: instant(noted.firstAt),
    lastTimestamp: instant(noted.writtenAt),
    count: noted.count,
  };
  return event;
}

/** An event lives an hour; one that is over by then is made anew. */
async function patchEvent(client: ApiClient, path: string, event: KubeObject): Promise<void> {
  try {
    await client.write({ method: "PATCH", patch: "merge-patch", path, body: event });
  } catch {
    const folder = path.slice(0, path.lastIndexOf("/"));
    await client.write({ method: "POST", path: folder, body: event });
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  if (map.size <= MOST_NOTED) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
