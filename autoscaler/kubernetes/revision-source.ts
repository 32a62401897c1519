/**
 * The revisions of a cluster as the controller sees them, derived again whenever one of the objects
 * behind a revision changes. A revision whose object is gone stays until its pods have left: they
 * may still hold requests.
 */
import type { Clock } from "../../common/clock.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { ObjectSource, ScaledRevision } from "../ports.ts";
import type { Collection } from "./collection.ts";
import { keyOf, SERVICE_LABEL } from "./objects.ts";
import type { KnativeService, PodAutoscaler, Revision, ServerlessService } from "./objects.ts";
import { scaledRevision } from "./scaled-revision.ts";

export interface RevisionSourceOptions {
  readonly scalers: Collection<PodAutoscaler>;
  readonly revisions: Collection<Revision>;
  readonly services: Collection<KnativeService>;
  readonly networks: Collection<ServerlessService>;
  readonly hasPods: (key: RevisionKey) => boolean;
  readonly clock: Clock;
}

interface Known {
  readonly revision: ScaledRevision;
  /** Tells whether a new look says anything new. */
  readonly text: string;
  /** When its object went; `null` while it is there. */
  readonly leftAt: number | null;
}

/** The longest run that the platform takes is far shorter than what deletes a namespace for good. */
const LEAVE_MAX_MS = 900_000;

export class RevisionSource implements ObjectSource {
  readonly #options: RevisionSourceOptions;
  readonly #known = new Map<RevisionKey, Known>();
  readonly #ofService = new Map<string, Set<RevisionKey>>();
  readonly #listeners: ((key: RevisionKey) => void)[] = [];

  constructor(options: RevisionSourceOptions) {
    this.#options = options;
    const { scalers, revisions, networks, services } = options;
    for (const collection of [scalers, revisions, networks]) {
      collection.onChange(({ key }) => this.#refresh(asKey(key)));
    }
    services.onChange(({ key }) => {
      for (const revision of this.#ofService.get(key) ?? []) this.#refresh(revision);
    });
  }

  list(): readonly ScaledRevision[] {
    return [...this.#known.values()].map(({ revision }) => revision);
  }

  get(key: RevisionKey): ScaledRevision | undefined {
    return this.#known.get(key)?.revision;
  }

  onChange(listener: (key: RevisionKey) => void): void {
    this.#listeners.push(listener);
  }

  /** Tells of every revision, after a time in which changes may have gone unnoticed. */
  tellAll(): void {
    for (const key of this.#known.keys()) this.#tell(key);
  }

  /** Drops revisions without an object whose pods have left. */
  forgetGone(): void {
    const longAgo = this.#options.clock.now() - LEAVE_MAX_MS;
    for (const [key, { leftAt }] of this.#known) {
      if (leftAt === null) continue;
      if (leftAt < longAgo || !this.#options.hasPods(key)) this.#drop(key);
    }
  }

  #refresh(key: RevisionKey): void {
    const { scalers, revisions, networks, services } = this.#options;
    const scaler = scalers.get(key);
    if (scaler === undefined || scaler.metadata.deletionTimestamp !== undefined) {
      return this.#leave(key);
    }
    const { namespace = "", labels = {} } = scaler.metadata;
    const service = keyOf(namespace, labels[SERVICE_LABEL] ?? "");
    this.#index(key, service);
    this.#put(
      key,
      scaledRevision(scaler, {
        revision: revisions.get(key),
        service: services.get(service),
        network: networks.get(key),
      }),
      null,
    );
  }

  #leave(key: RevisionKey): void {
    const known = this.#known.get(key);
    if (known === undefined || known.leftAt !== null) return;
    if (!this.#options.hasPods(key)) return this.#drop(key);
    const { network: _network, ...revision } = known.revision;
    // Its Deployment goes as well: there is nothing left to decide, only targets to see off.
    const leaving = { ...revision, reachable: false, trafficShare: 0, scaledElsewhere: true };
    this.#put(key, leaving, this.#options.clock.now());
  }

  #put(key: RevisionKey, revision: ScaledRevision, leftAt: number | null): void {
    const text = JSON.stringify(revision);
    const before = this.#known.get(key);
    if (before?.text === text && before.leftAt === leftAt) return;
    this.#known.set(key, { revision, text, leftAt });
    this.#tell(key);
  }

  #drop(key: RevisionKey): void {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.delete(key);
    const service = keyOf(known.revision.namespace, known.revision.service);
    const others = this.#ofService.get(service);
    others?.delete(key);
    if (others?.size === 0) this.#ofService.delete(service);
    this.#tell(key);
  }

  #index(key: RevisionKey, service: string): void {
    const keys = this.#ofService.get(service) ?? new Set<RevisionKey>();
    keys.add(key);
    this.#ofService.set(service, keys);
  }

  #tell(key: RevisionKey): void {
    for (const listener of this.#listeners) listener(key);
  }
}

/** Keys of namespaced collections have the form of a revision's key. */
function asKey(key: string): RevisionKey {
  return key as RevisionKey;
}
