/**
 * A copy of all objects of one kind that cannot go stale in silence: a list, then a watch from
 * there, ended by a clock of ours where the server's does not. Whatever ends a watch other than the
 * server's own time limit is followed by a new list, which is compared with the copy as a whole.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../common/clock.ts";
import { errorText } from "../../common/errors.ts";
import type { Random } from "../../common/random.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { ApiClient } from "./api-client.ts";
import { nameKey } from "./objects.ts";
import type { KubeList, KubeObject } from "./objects.ts";
import { watchEvents } from "./watch-lines.ts";
import type { WatchEvent } from "./watch-lines.ts";

export interface CollectionOptions<T extends KubeObject> {
  /** In logs and metrics: `pods`. */
  readonly name: string;
  readonly client: ApiClient;
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Leaves out what nobody reads. */
  readonly trim?: (object: T) => T;
  readonly times?: Partial<WatchTimes>;
}

export interface WatchTimes {
  /** The server ends a watch by itself after half of this to the whole of it. */
  readonly watchMs: number;
  /** After that much more we end it: the connection is half open. */
  readonly slackMs: number;
  /** A watch that seems to work is nevertheless followed by a whole list this often. */
  readonly compareMs: number;
  readonly backOffMs: number;
  readonly backOffMaxMs: number;
}

/** Together they find a silent watch within 60 s, its new list included. */
const TIMES: WatchTimes = {
  watchMs: 36_000,
  slackMs: 6_000,
  compareMs: 600_000,
  backOffMs: 200,
  backOffMaxMs: 5_000,
};
const PAGE = 500;
const SHORT_WATCH_MS = 5_000;

export interface Change<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export interface CollectionStats {
  readonly name: string;
  readonly objects: number;
  /** When the copy was last known to be whole, ms since the epoch; 0 before the first list. */
  readonly confirmedAt: number;
  readonly lists: number;
  readonly failures: number;
}

export class Collection<T extends KubeObject> {
  readonly #options: CollectionOptions<T>;
  readonly #times: WatchTimes;
  readonly #objects = new Map<string, T>();
  readonly #listeners: ((change: Change<T>) => void)[] = [];
  readonly #listListeners: (() => void)[] = [];
  readonly #stopping = new AbortController();
  #resourceVersion = "";
  #confirmedAt = 0;
  #listedAt = 0;
  #lists = 0;
  #failures = 0;
  #failuresInARow = 0;
  #running: Promise<void> | null = null;

  constructor(options: CollectionOptions<T>) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  get stats(): CollectionStats {
    return {
      name: this.#options.name,
      objects: this.#objects.size,
      confirmedAt: this.#confirmedAt,
      lists: this.#lists,
      failures: this.#failures,
    };
  }

  /** Milliseconds since the copy was last known to be whole; infinite before the first list. */
  ageMs(): number {
    if (this.#confirmedAt === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#options.clock.now() - this.#confirmedAt);
  }

  onChange(listener: (change: Change<T>) => void): void {
    this.#listeners.push(listener);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves after the first whole list. */
  listed(): Promise<void> {
    if (this.#lists > 0) return Promise.resolve();
    return new Promise((resolve) => this.#listListeners.push(resolve));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { logger, name, clock, client } = this.#options;
    let isWhole = false;
    while (!this.#isStopped()) {
      try {
        if (!isWhole || clock.now() - this.#listedAt > this.#times.compareMs) await this.#list();
        const startedAt = clock.now();
        isWhole = await this.#watch();
        // A server that ends each watch at once must not be asked for whole lists all the time.
        const isShort = !isWhole && clock.now() - startedAt < SHORT_WATCH_MS;
        this.#failuresInARow = isShort ? this.#failuresInARow + 1 : 0;
      } catch (error) {
        isWhole = false;
        if (this.#isStopped()) return;
        this.#failures += 1;
        this.#failuresInARow += 1;
        logger.warn("watch broke", { resource: name, error: errorText(error) });
        // What silenced or slowed this connection may have done the same to the idle ones.
        client.renewConnections();
      }
      if (!isWhole) await this.#pause();
    }
  }

  #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** The whole collection in pages of one instant; what is gone since is told as a deletion. */
  async #list(): Promise<void> {
    const found = await this.#readAll();
    if (this.#isStopped()) return;
    this.#lists += 1;
    this.#listedAt = this.#options.clock.now();
    this.#confirm();
    for (const key of this.#objects.keys()) {
      if (!found.has(key)) this.#put(key, undefined);
    }
    for (const [key, object] of found) this.#put(key, object);
    for (const listener of this.#listListeners.splice(0)) listener();
  }

  async #readAll(): Promise<ReadonlyMap<string, T>> {
    const found = new Map<string, T>();
    let token = "";
    do {
      const page = await this.#page(token);
      for (const object of page.items ?? []) found.set(nameKey(object), this.#trimmed(object));
      const { continue: next = "", resourceVersion = "" } = page.metadata ?? {};
      [token, this.#resourceVersion] = [next, resourceVersion];
    } while (token !== "" && !this.#isStopped());
    return found;
  }

  #page(token: string): Promise<KubeList<T>> {
    return this.#options.client.read(this.#url({ limit: String(PAGE), continue: token }));
  }

  /** True when the server ended the watch in good order and the next may go on from there. */
  async #watch(): Promise<boolean> {
    const { watchMs, slackMs } = this.#times;
    const { client, random, clock } = this.#options;
    const limitMs = Math.round(watchMs * (0.5 + random() / 2));
    const guard = new AbortController();
    const timer = setTimeout(
      () => guard.abort(new Error("the watch outlived its time: half open")),
      limitMs + slackMs,
    );
    const startedAt = clock.now();
    try {
      const signal = AbortSignal.any([guard.signal, this.#stopping.signal]);
      const seconds = Math.max(1, Math.round(limitMs / 1_000));
      const body = await client.open(this.#watchUrl(seconds), signal);
      this.#confirm();
      for await (const event of watchEvents<T>(body)) {
        if (event.type === "ERROR") throw watchError(event.object);
        this.#take(event);
        this.#confirm();
      }
      // Half a second: the server counts whole ones, and its clock is not ours.
      const isInTime = clock.now() - startedAt >= seconds * 1_000 - 500;
      if (isInTime) this.#confirm();
      return isInTime;
    } catch (error) {
      throw guard.signal.aborted ? guard.signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  #take(event: WatchEvent<T>): void {
    const { object, type } = event;
    const version = object.metadata.resourceVersion;
    if (type !== "BOOKMARK") {
      this.#put(nameKey(object), type === "DELETED" ? undefined : this.#trimmed(object));
    }
    if (version !== undefined) this.#resourceVersion = version;
  }

  #put(key: string, after: T | undefined): void {
    const before = this.#objects.get(key);
    if (after === undefined) this.#objects.delete(key);
    else this.#objects.set(key, after);
    const isSame = before?.metadata.resourceVersion === after?.metadata.resourceVersion;
    const isSameLife = before?.metadata.uid === after?.metadata.uid;
    if (isSame && isSameLife) return;
    for (const listener of this.#listeners) this.#tell(listener, { key, before, after });
  }

  /** One object that a listener cannot bear must not end the watch of all others. */
  #tell<A>(listener: (argument: A) => void, argument: A): void {
    try {
      listener(argument);
    } catch (error) {
      this.#options.logger.error("an object was not understood", {
        resource: this.#options.name,
        error,
      });
    }
  }

  #trimmed(object: T): T {
    return this.#options.trim?.(object) ?? object;
  }

  #confirm(): void {
    this.#confirmedAt = this.#options.clock.now();
  }

  #watchUrl(seconds: number): string {
    return this.#url({
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: this.#resourceVersion,
      timeoutSeconds: String(seconds),
    });
  }

  #url(parameters: Readonly<Record<string, string>>): string {
    const { path, labelSelector = "", fieldSelector = "" } = this.#options;
    const all = { ...parameters, labelSelector, fieldSelector };
    const query = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ""));
    return `${path}?${query.toString()}`;
  }

  async #pause(): Promise<void> {
    const { backOffMs, backOffMaxMs } = this.#times;
    const fullMs = Math.min(backOffMaxMs, backOffMs * 2 ** Math.min(this.#failuresInARow, 10));
    const delayMs = fullMs * (0.5 + this.#options.random() / 2);
    const { signal } = this.#stopping;
    await delay(delayMs, undefined, { signal }).catch(() => undefined);
  }
}

/** `410`: what happened since our version is no longer kept. A new list follows any of these. */
function watchError(object: unknown): Error {
  const { code, message } = object as { readonly code?: unknown; readonly message?: unknown };
  return new Error(`the API server ended the watch with ${String(code)}: ${String(message)}`);
}
