/**
 * The services of a local platform: definitions come in from files, revisions go out to the
 * controller, routes to the activators. Holds all state of services and nothing of pods.
 */
import type { ObjectSource, ScaledRevision } from "../autoscaler/ports.ts";
import type { Clock } from "../common/clock.ts";
import type { RouteTable } from "../common/contracts/local-run.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Launch } from "./launch.ts";
import type { PodPlan } from "./pod-types.ts";
import { admit, applyDefinition, latestReady, nameFault, withoutForgotten } from "./revisions.ts";
import type { RevisionRecord, ServiceRecord } from "./revisions.ts";
import type { Rollout } from "./rollout.ts";
import type { ServiceDefinition } from "./service-types.ts";
import { settingsOf, withLiveKeys } from "./settings-check.ts";
import { allRoutes, reachableNames, trafficShares } from "./traffic.ts";
import { settle, stepForward } from "./transitions.ts";

const DEFAULT_CARD = "default";
/** Longest time for which an activator may act on routes of before: the watch, and a margin. */
const LEAVE_MS = 2_000;

export type ServiceChange =
  | { readonly kind: "added" | "changed" | "new-revision"; readonly service: ServiceRecord }
  | { readonly kind: "traffic-moved"; readonly service: ServiceRecord }
  | { readonly kind: "removed"; readonly service: ServiceRecord };

interface FoundRevision {
  readonly service: ServiceRecord;
  readonly revision: RevisionRecord;
  readonly leaving: boolean;
}

export class ServiceBook implements ObjectSource {
  readonly #clock: Clock;
  readonly #services = new Map<RevisionKey, ServiceRecord>();
  /**
   * Removed services whose requests and pods have not all left. No route leads to them, but their
   * revisions go on existing: an activator may still act on the routes of a moment ago.
   */
  readonly #leaving = new Map<RevisionKey, { readonly service: ServiceRecord; at: number }>();
  readonly #listeners: ((key: RevisionKey) => void)[] = [];
  readonly #onService: (change: ServiceChange) => void;
  #generation = 0;

  constructor(clock: Clock, onService: (change: ServiceChange) => void) {
    this.#clock = clock;
    this.#onService = onService;
  }

  services(): readonly ServiceRecord[] {
    return [...this.#services.values()];
  }

  list(): readonly ScaledRevision[] {
    return this.#all().flatMap(({ service, leaving }) =>
      service.revisions.map((revision) => scaledRevision(service, revision, leaving)),
    );
  }

  get(key: RevisionKey): ScaledRevision | undefined {
    const found = this.#find(key);
    if (found === undefined) return undefined;
    return scaledRevision(found.service, found.revision, found.leaving);
  }

  onChange(listener: (key: RevisionKey) => void): void {
    this.#listeners.push(listener);
  }

  /** What a pod of the revision is made from; undefined when the revision is gone. */
  podPlan(key: RevisionKey): PodPlan | undefined {
    const found = this.#find(key);
    if (found === undefined) return undefined;
    const { service, revision } = found;
    const { definition } = service;
    const annotations = withLiveKeys(definition.annotations, revision.template);
    const cards = settingsOf(definition.annotations, revision.template).gpuPreference;
    return {
      key,
      namespace: definition.namespace,
      service: definition.name,
      configuration: definition.name,
      revision: revision.name,
      template: { ...revision.template, annotations },
      launch: revision.launch,
      card: cards[0] ?? DEFAULT_CARD,
      cards,
    };
  }

  routeTable(): RouteTable {
    this.#generation += 1;
    return { generation: this.#generation, routes: allRoutes(this.services()) };
  }

  /** A good definition from a file: new, changed, or the same as before. Answers a fault, or "". */
  apply(definition: ServiceDefinition, launch: Launch): string {
    const { key } = definition;
    // A service that comes back goes on with the numbers that it had.
    const before = this.#services.get(key) ?? this.#leaving.get(key)?.service;
    const fault = nameFault(before, definition, launch);
    if (fault !== "") return fault;
    const isBack = this.#leaving.delete(key);
    const { initialScale } = settingsOf(definition.annotations, definition.template);
    const applied = applyDefinition(before, definition, {
      launch,
      createdAt: this.#clock.now(),
      admitted: initialScale === 0,
    });
    const after = this.#settle(before, applied);
    if (!isBack && JSON.stringify(before) === JSON.stringify(after)) return "";
    this.#services.set(key, after);
    const grown = after.revisions.length !== before?.revisions.length;
    const kind = before === undefined || isBack ? "added" : grown ? "new-revision" : "changed";
    this.#tell(kind, after);
    return "";
  }

  remove(key: RevisionKey): void {
    const service = this.#services.get(key);
    if (service === undefined) return;
    this.#services.delete(key);
    this.#leaving.set(key, { service, at: this.#clock.now() });
    this.#onService({ kind: "removed", service });
    this.#announce(service);
  }

  /** A pod of the revision is ready: its traffic may move there. */
  markReady(key: RevisionKey): void {
    const found = this.#find(key);
    if (found === undefined || found.leaving || found.revision.admitted) return;
    const before = found.service;
    const after = this.#settle(before, admit(before, key));
    this.#services.set(after.definition.key, after);
    const isSame = latestReady(after)?.key === latestReady(before)?.key;
    const trafficStays =
      JSON.stringify(trafficShares(after)) === JSON.stringify(trafficShares(before));
    if (!isSame || !trafficStays) this.#tell("traffic-moved", after);
  }

  /** Traffic of `latest` moves by one more step, unless it moved or changed its mind meanwhile. */
  stepRollout(key: RevisionKey, seen: Rollout): void {
    const before = this.#services.get(key);
    if (before === undefined || before.rollout !== seen) return;
    const after = stepForward(before, this.#clock.now());
    this.#services.set(key, after);
    this.#tell("traffic-moved", after);
  }

  /** Forgets what nothing names and what has no pods, but for some revisions to roll back to. */
  forgetUnreachable(hasPods: (key: RevisionKey) => boolean): void {
    for (const [name, service] of this.#services) {
      const reachable = reachableNames(service);
      const kept = withoutForgotten(
        service,
        (revision) => reachable.has(revision.name) || hasPods(revision.key),
      );
      if (kept === service) continue;
      this.#services.set(name, kept);
      this.#announce(service);
    }
    const longAgo = this.#clock.now() - LEAVE_MS;
    for (const [name, { service, at }] of this.#leaving) {
      if (at > longAgo || service.revisions.some(({ key }) => hasPods(key))) continue;
      this.#leaving.delete(name);
      this.#announce(service);
    }
  }

  #settle(before: ServiceRecord | undefined, after: ServiceRecord): ServiceRecord {
    return settle(before, after, {
      now: this.#clock.now(),
      rolloutDurationMs: rolloutDurationOf(after),
    });
  }

  #tell(kind: Exclude<ServiceChange["kind"], "removed">, service: ServiceRecord): void {
    this.#onService({ kind, service });
    this.#announce(service);
  }

  #all(): readonly { readonly service: ServiceRecord; readonly leaving: boolean }[] {
    return [
      ...this.services().map((service) => ({ service, leaving: false })),
      ...[...this.#leaving.values()].map(({ service }) => ({ service, leaving: true })),
    ];
  }

  #find(key: RevisionKey): FoundRevision | undefined {
    for (const { service, leaving } of this.#all()) {
      const revision = service.revisions.find((candidate) => candidate.key === key);
      if (revision !== undefined) return { service, revision, leaving };
    }
    return undefined;
  }

  #announce(service: ServiceRecord): void {
    for (const revision of service.revisions) {
      for (const listener of this.#listeners) listener(revision.key);
    }
  }
}

/** Of the Service as it stands: an edit holds for a rollout that runs. */
export function rolloutDurationOf({ definition }: ServiceRecord): number {
  return settingsOf(definition.annotations, definition.template).rolloutDurationMs;
}

function share(service: ServiceRecord, revision: RevisionRecord): number {
  const target = trafficShares(service).find((entry) => entry.revision === revision.name);
  return (target?.percent ?? 0) / 100;
}

function scaledRevision(
  service: ServiceRecord,
  revision: RevisionRecord,
  leaving: boolean,
): ScaledRevision {
  const { definition } = service;
  const { template } = revision;
  return {
    key: revision.key,
    namespace: definition.namespace,
    service: definition.name,
    revision: revision.name,
    annotations: withLiveKeys(definition.annotations, template),
    containerConcurrency: template.containerConcurrency,
    timeoutSeconds: template.timeoutSeconds,
    responseStartTimeoutSeconds: template.responseStartTimeoutSeconds,
    idleTimeoutSeconds: template.idleTimeoutSeconds,
    protocol: template.container.protocol,
    trafficShare: leaving ? 0 : share(service, revision),
    initialised: revision.admitted,
    reachable: !leaving && reachableNames(service).has(revision.name),
    createdAt: revision.createdAt,
  };
}
