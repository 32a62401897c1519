/**
 * The digests of this cell, as its store has them: read again after each change that an activator
 * of the cell makes, at most every 50 ms, and each second as a whole.
 */
import type { RevisionConfig, RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { CellCalls } from "../store/cell-calls.ts";
import type { RoutingStore } from "../store/types.ts";
import type { ServiceDigest } from "./core/digest.ts";
import { differs } from "./core/digest.ts";
import { LoadEstimate } from "./core/load-estimate.ts";
import { mergeRevisions, parseFacts } from "./core/merge-revisions.ts";
import type { RevisionState } from "./core/merge-revisions.ts";
import { parseRegions, spansCells } from "./core/regions.ts";

const CHANGES_EVERY_MS = 50;
const WHOLE_EVERY_MS = 1_000;
/** Revisions come with a message; the list is compared in case one was lost. */
const LIST_EVERY_MS = 5_000;
/** Reads at one moment; a store that is slow must not be buried in them. */
const MOST_READS = 256;

export interface OwnDigestsOptions {
  readonly store: Pick<RoutingStore, "listRevisions" | "readRevision">;
  readonly calls: Pick<CellCalls, "readDigest">;
  readonly logger: Logger;
}

interface Watched {
  readonly key: RevisionKey;
  config: RevisionConfig;
  regions: readonly string[];
  state: RevisionState | null;
  readonly load: LoadEstimate;
}

export class OwnDigests {
  readonly #options: OwnDigestsOptions;
  readonly #watched = new Map<RevisionKey, Watched>();
  readonly #byService = new Map<string, Set<Watched>>();
  /** Revisions that the store has, and that belong to one cell only. */
  readonly #others = new Set<RevisionKey>();
  readonly #dirty = new Set<RevisionKey>();
  readonly #digests = new Map<string, ServiceDigest>();
  readonly #listeners: ((services: readonly string[]) => void)[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #isReading = false;

  constructor(options: OwnDigestsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#every(CHANGES_EVERY_MS, () => void this.#readDirty());
    this.#every(WHOLE_EVERY_MS, () => this.#markAll());
    this.#every(LIST_EVERY_MS, () => void this.#list());
    void this.#list();
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Called with the services whose digest changed in a way that others may care for. */
  onChange(listener: (services: readonly string[]) => void): void {
    this.#listeners.push(listener);
  }

  all(): IterableIterator<ServiceDigest> {
    return this.#digests.values();
  }

  get(service: string): ServiceDigest | null {
    return this.#digests.get(service) ?? null;
  }

  /** Where a service may run; empty for one that does not span cells. */
  regionsOf(service: string): readonly string[] {
    const [first] = this.#byService.get(service) ?? [];
    return first?.regions ?? [];
  }

  /** True when the revision is one that other cells hear of. */
  touch(revision: RevisionKey): boolean {
    if (!this.#watched.has(revision)) return false;
    this.#dirty.add(revision);
    return true;
  }

  /** Its configuration came, changed or went. */
  async reread(revision: RevisionKey): Promise<void> {
    try {
      const config = await this.#options.store.readRevision(revision);
      if (config === null) return this.#drop(revision);
      this.#use(revision, config);
    } catch (error) {
      this.#options.logger.debug("configuration not read for digests", { revision, error });
    }
  }

  #use(key: RevisionKey, config: RevisionConfig): void {
    const regions = parseRegions(config.regions ?? "");
    if (!spansCells(regions)) {
      this.#drop(key);
      this.#others.add(key);
      return;
    }
    this.#others.delete(key);
    const watched = this.#watched.get(key);
    if (watched === undefined) {
      this.#watch({ key, config, regions, state: null, load: new LoadEstimate() });
    } else {
      watched.config = config;
      watched.regions = regions;
    }
    this.#dirty.add(key);
  }

  #watch(watched: Watched): void {
    const service = serviceOf(watched.config);
    const siblings = this.#byService.get(service);
    this.#watched.set(watched.key, watched);
    if (siblings === undefined) this.#byService.set(service, new Set([watched]));
    else siblings.add(watched);
  }

  #drop(key: RevisionKey): void {
    this.#others.delete(key);
    const watched = this.#watched.get(key);
    if (watched === undefined) return;
    const service = serviceOf(watched.config);
    const siblings = this.#byService.get(service);
    this.#watched.delete(key);
    siblings?.delete(watched);
    if (siblings?.size === 0) this.#byService.delete(service);
    this.#remake([service]);
  }

  async #list(): Promise<void> {
    try {
      const known = await this.#options.store.listRevisions();
      const keys = new Set(known);
      for (const key of [...this.#watched.keys(), ...this.#others]) {
        if (!keys.has(key)) this.#drop(key);
      }
      const fresh = known.filter((key) => !this.#watched.has(key) && !this.#others.has(key));
      await Promise.all(fresh.map((key) => this.reread(key)));
    } catch (error) {
      // The store is away; what is known is told on, and grows old at the receivers by itself.
      this.#options.logger.debug("revisions not listed for digests", { error });
    }
  }

  #markAll(): void {
    for (const key of this.#watched.keys()) this.#dirty.add(key);
  }

  async #readDirty(): Promise<void> {
    if (this.#isReading || this.#dirty.size === 0) return;
    this.#isReading = true;
    const keys = [...this.#dirty].slice(0, MOST_READS);
    for (const key of keys) this.#dirty.delete(key);
    try {
      await Promise.all(keys.map((key) => this.#read(key)));
      const services = keys.flatMap((key) => {
        const watched = this.#watched.get(key);
        return watched === undefined ? [] : [serviceOf(watched.config)];
      });
      this.#remake([...new Set(services)]);
    } catch (error) {
      this.#options.logger.debug("digests not read", { error });
    } finally {
      this.#isReading = false;
    }
  }

  async #read(key: RevisionKey): Promise<void> {
    const watched = this.#watched.get(key);
    if (watched === undefined) return;
    const reading = await this.#options.calls.readDigest(key);
    if (reading === null) {
      watched.state = null;
      return;
    }
    watched.load.note(reading);
    const { busy, waiting, ready, starting } = reading;
    const { containerConcurrency, revision, startTimeMs } = watched.config;
    const slots = ready * Math.max(1, containerConcurrency);
    watched.state = {
      revision,
      containerConcurrency,
      startTimeMs,
      busy,
      waiting,
      ready,
      starting,
      expectedWaitMs: watched.load.expectedWaitMs(slots),
      facts: parseFacts(reading.facts),
    };
  }

  #remake(services: readonly string[]): void {
    const changed = services.filter((service) => this.#remakeOne(service));
    if (changed.length === 0) return;
    for (const listener of this.#listeners) listener(changed);
  }

  #remakeOne(service: string): boolean {
    const siblings = [...(this.#byService.get(service) ?? [])];
    const states = siblings.flatMap(({ state }) => state ?? []);
    const before = this.#digests.get(service);
    const digest = mergeRevisions(service, states);
    if (digest === null) return this.#digests.delete(service);
    this.#digests.set(service, digest);
    return before === undefined || differs(before, digest);
  }

  #every(periodMs: number, run: () => void): void {
    const timer = setInterval(run, periodMs);
    timer.unref();
    this.#timers.push(timer);
  }
}

export function serviceOf(config: Pick<RevisionConfig, "namespace" | "service">): string {
  return `${config.namespace}/${config.service}`;
}
