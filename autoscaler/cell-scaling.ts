/**
 * The autoscaler among cells: gives the decision its bounds out of the cell's share, asks for more
 * and gives back, and tells the activators what other cells should know. Services of one cell pass
 * through untouched.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { priceOf } from "../cells/core/cell-entry.ts";
import { allows, spansCells } from "../cells/core/regions.ts";
import { bufferCell, lowerBoundsHere } from "../cells/core/share-plan.ts";
import { roomOf } from "../cells/core/own-share.ts";
import { writeNews } from "../cells/cell-news.ts";
import type { CellDirectory } from "../cells/directory.ts";
import type { PeerPods } from "../cells/peer-pods.ts";
import type { ShareClient } from "../cells/share-client.ts";
import type { Logger } from "../foundation/logger.ts";
import type { CellCalls } from "../store/cell-calls.ts";
import { clampPods } from "./core/bounds.ts";
import type { Decision } from "./core/decision.ts";
import type { RevisionSettings } from "./core/settings/types.ts";
import type { ScaledRevision } from "./ports.ts";

export interface CellScalingOptions {
  readonly directory: CellDirectory;
  readonly shares: ShareClient;
  readonly peers: PeerPods;
  readonly calls: CellCalls;
  readonly logger: Logger;
  /** Of this process, for the activators of the cell. */
  readonly name: string;
  /**
   * Revisions as they are when this life begins. They may have pods already, so that none of a
   * service grows before each of them was looked at once.
   */
  readonly revisions: readonly ScaledRevision[];
}

export interface CellBound {
  readonly settings: RevisionSettings;
  /** Pods that this revision may have here; null: cells are no matter for it. */
  readonly cap: number | null;
}

export class CellScaling {
  readonly #options: CellScalingOptions;
  /** Pods of each revision, so that revisions of a service share what the cell may run. */
  readonly #inUse = new Map<string, Map<RevisionKey, number>>();
  readonly #facts = new Map<RevisionKey, string>();
  readonly #keys = new Map<string, Set<RevisionKey>>();
  /** Of each service, revisions whose pods are not counted yet. */
  readonly #unseen = new Map<string, Set<RevisionKey>>();
  #onShareChanged: (key: RevisionKey) => void = () => {};

  constructor(options: CellScalingOptions) {
    this.#options = options;
    for (const revision of options.revisions) {
      if (revision.scaledElsewhere !== true) add(this.#unseen, serviceKey(revision), revision.key);
    }
  }

  /** Services of which not all revisions were looked at since this life began. */
  get uncounted(): ReadonlyMap<string, unknown> {
    return this.#unseen;
  }

  /** One listener: revisions whose bounds changed. */
  onShareChanged(listener: (key: RevisionKey) => void): void {
    this.#onShareChanged = listener;
  }

  /** The share of a service changed. */
  shareChanged(service: string): void {
    for (const key of this.#keys.get(service) ?? []) this.#onShareChanged(key);
  }

  /** `replicas`: asked for at present; all that there may be until the share is known. */
  bound(revision: ScaledRevision, settings: RevisionSettings, replicas: number): CellBound {
    const { directory, shares } = this.#options;
    const service = serviceKey(revision);
    if (!spansCells(settings.regions)) {
      this.#seen(service, revision.key);
      return { settings, cap: null };
    }
    const home = directory.homeOf(settings.regions);
    const keepsBuffer = this.#keepsBuffer(service, home);
    const isKnown = shares.knows(service) && !this.#unseen.has(service);
    const share = shares.holds(service) - this.#others(service, revision.key);
    const cap = isKnown ? Math.max(0, share) : replicas;
    return {
      settings: {
        ...settings,
        ...lowerBoundsHere(settings, home === directory.own),
        ...(keepsBuffer ? {} : { buffer: { kind: "pods" as const, pods: 0 } }),
      },
      cap,
    };
  }

  /** After a decision: what is wished, and what other cells are told. */
  decided(revision: ScaledRevision, bound: CellBound, decision: Decision, inUse: number): void {
    const { settings, cap } = bound;
    if (cap === null) return;
    const service = serviceKey(revision);
    this.#note(service, revision.key, Math.max(inUse, decision.replicas));
    this.#seen(service, revision.key);
    // A wish that leaves out pods of a sibling would give back what they stand on.
    if (!this.#unseen.has(service)) this.#wish(revision, bound, decision, inUse);
    this.#tell(revision, settings);
  }

  #wish(revision: ScaledRevision, bound: CellBound, decision: Decision, inUse: number): void {
    const { settings } = bound;
    const service = serviceKey(revision);
    const { load, bounds } = decision.explanation;
    const wanted = clampPods(load.asked, { min: bounds.min, max: bounds.max });
    const others = this.#others(service, revision.key);
    this.#options.shares.wish(service, {
      regions: settings.regions,
      wanted: revision.reachable ? wanted + others : others,
      inUse: Math.max(inUse, decision.replicas) + others,
      room: revision.reachable ? this.#room(settings, load.buffer) : 0,
      max: settings.maxScale,
    });
  }

  /** The store may have lost what other cells are told of it: said again by the next decision. */
  retell(key: RevisionKey): void {
    this.#facts.delete(key);
  }

  removed(key: RevisionKey): void {
    this.#facts.delete(key);
    for (const service of this.#unseen.keys()) this.#seen(service, key);
    for (const [service, keys] of this.#keys) {
      if (!keys.delete(key)) continue;
      this.#inUse.get(service)?.delete(key);
      if (keys.size > 0) continue;
      this.#keys.delete(service);
      this.#inUse.delete(service);
      this.#options.shares.drop(service);
    }
  }

  #room({ regions, maxScale: max }: RevisionSettings, buffer: number): number {
    const { directory } = this.#options;
    const cells = directory.all().filter((cell) => allows(regions, cell)).length;
    return roomOf({ buffer, max, cells, isHome: directory.homeOf(regions) === directory.own });
  }

  #keepsBuffer(service: string, home: string): boolean {
    const { directory, peers } = this.#options;
    const here = { cell: directory.own, pods: this.#total(service) };
    return bufferCell([here, ...peers.podsOf(service)], home) === directory.own;
  }

  #note(service: string, key: RevisionKey, inUse: number): void {
    const known = this.#inUse.get(service) ?? new Map<RevisionKey, number>();
    known.set(key, inUse);
    this.#inUse.set(service, known);
    add(this.#keys, service, key);
  }

  #seen(service: string, key: RevisionKey): void {
    const unseen = this.#unseen.get(service);
    if (unseen === undefined || !unseen.delete(key) || unseen.size > 0) return;
    this.#unseen.delete(service);
    // Siblings were held back until now.
    this.shareChanged(service);
  }

  #total(service: string): number {
    let total = 0;
    for (const pods of this.#inUse.get(service)?.values() ?? []) total += pods;
    return total;
  }

  #others(service: string, key: RevisionKey): number {
    return this.#total(service) - (this.#inUse.get(service)?.get(key) ?? 0);
  }

  /** For the digests; written only when it changed, and said to the activators at once. */
  #tell(revision: ScaledRevision, settings: RevisionSettings): void {
    const { directory, shares, calls, name, logger } = this.#options;
    const service = serviceKey(revision);
    const isAllowed = allows(settings.regions, directory.ownEntry);
    const facts = JSON.stringify({
      reachable: revision.reachable,
      mayStart: isAllowed ? shares.mayStart(service) : 0,
      pods: this.#total(service),
      share: shares.holds(service),
      price: priceOf(directory.ownEntry, settings.gpuPreference, settings.computeTier),
    });
    const { key } = revision;
    if (this.#facts.get(key) === facts) return;
    this.#facts.set(key, facts);
    calls
      .writeFacts(key, facts)
      .then(() => calls.publish(writeNews(name, { touched: [key] })))
      .catch((error: unknown) => {
        // Written again by the next decision.
        this.#facts.delete(key);
        logger.debug("facts for other cells not written", { revision: key, error });
      });
  }
}

function add(sets: Map<string, Set<RevisionKey>>, service: string, key: RevisionKey): void {
  const keys = sets.get(service);
  if (keys === undefined) sets.set(service, new Set([key]));
  else keys.add(key);
}

function serviceKey({ namespace, service }: ScaledRevision): string {
  return `${namespace}/${service}`;
}
