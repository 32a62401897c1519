/**
 * The streams on which other cells listen to this one: to each what it may know, changes at once
 * but at most every 50 ms, the whole each second in parts. A stream that falls behind misses what
 * the next whole brings anyway; one that asks nothing for 3 s is half open and ends.
 */
import type { ControlMessage } from "../common/contracts/cells.ts";
import type { CellDirectory } from "./directory.ts";
import { offeredSlots, toRow } from "./core/digest.ts";
import type { DigestRow } from "./core/digest.ts";
import { allows } from "./core/regions.ts";
import type { LineStream } from "./line-stream.ts";
import type { OwnDigests } from "./own-digests.ts";

const CHANGES_EVERY_MS = 50;
const WHOLE_EVERY_MS = 1_000;
/** Services per part: one part is written in well under a millisecond. */
const PART = 100;
const SILENCE_MS = 3_000;
/** Streams of other activators are told each second; silence of three means that they are gone. */
const ENTRIES_KEPT_MS = 3_000;

export interface Feed {
  readonly cell: string;
  readonly name: string;
  readonly stream: LineStream;
  readonly wantsDigests: boolean;
  /** Requests enter there, so slots are offered to it. */
  readonly isEntry: boolean;
  /** Of the receiver's clock, as last heard. */
  echo: number;
  heardAt: number;
}

export interface DigestFeedsOptions {
  readonly own: OwnDigests;
  readonly directory: CellDirectory;
  /** Monotonic, ms. */
  readonly now: () => number;
}

export class DigestFeeds {
  readonly #options: DigestFeedsOptions;
  readonly #feeds = new Set<Feed>();
  readonly #changed = new Set<string>();
  readonly #timers: NodeJS.Timeout[] = [];
  /** Entry activators that listen to other activators of this cell, by activator. */
  readonly #elsewhere = new Map<string, { readonly entries: number; readonly heardAt: number }>();

  constructor(options: DigestFeedsOptions) {
    this.#options = options;
    options.own.onChange((services) => {
      for (const service of services) this.#changed.add(service);
    });
  }

  start(): void {
    this.#every(CHANGES_EVERY_MS, () => this.#sendChanges());
    this.#every(WHOLE_EVERY_MS, () => this.#sendWhole());
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { stream } of this.#feeds) stream.close();
  }

  add(feed: Feed): void {
    this.#feeds.add(feed);
    if (feed.wantsDigests) this.#sendAll(feed);
  }

  remove(feed: Feed): void {
    this.#feeds.delete(feed);
  }

  /** Answers a question whether this end still stands; what follows carries its echo. */
  pinged(feed: Feed, at: number): void {
    feed.echo = at;
    feed.heardAt = this.#options.now();
    feed.stream.send({ kind: "pong", at });
  }

  /** To every process of other cells that listens here. */
  broadcast(message: ControlMessage): void {
    for (const { stream } of this.#feeds) stream.send(message);
  }

  /** Entry activators that listen to this process. */
  get entries(): number {
    let entries = 0;
    for (const { isEntry } of this.#feeds) if (isEntry) entries += 1;
    return entries;
  }

  /** Another activator of this cell says how many entries listen to it. */
  noteElsewhere(activator: string, entries: number): void {
    this.#elsewhere.set(activator, { entries, heardAt: this.#options.now() });
  }

  #allEntries(): number {
    const since = this.#options.now() - ENTRIES_KEPT_MS;
    let entries = this.entries;
    for (const [activator, told] of this.#elsewhere) {
      if (told.heardAt < since) this.#elsewhere.delete(activator);
      else entries += told.entries;
    }
    return entries;
  }

  #sendChanges(): void {
    if (this.#changed.size === 0) return;
    const services = [...this.#changed];
    this.#changed.clear();
    const entries = this.#allEntries();
    for (const feed of this.#feeds) {
      if (!feed.wantsDigests || feed.stream.isBehind) continue;
      const rows = services.flatMap((service) => this.#rowFor(feed, service, entries));
      if (rows.length > 0) feed.stream.send({ kind: "digest", at: feed.echo, rows });
    }
  }

  #sendWhole(): void {
    const now = this.#options.now();
    for (const feed of this.#feeds) {
      if (now - feed.heardAt > SILENCE_MS) feed.stream.close();
      else if (feed.wantsDigests && !feed.stream.isBehind) this.#sendAll(feed);
    }
  }

  /** In parts, so that no single one stands in the way of changes; the last says it is complete. */
  #sendAll(feed: Feed): void {
    const entries = this.#allEntries();
    const { echo } = feed;
    const rows: DigestRow[] = [];
    for (const { service } of this.#options.own.all()) {
      rows.push(...this.#rowFor(feed, service, entries));
      if (rows.length < PART) continue;
      feed.stream.send({ kind: "digest", at: echo, rows: rows.splice(0) });
    }
    feed.stream.send({ kind: "digest", at: echo, rows, completeSince: echo });
  }

  /** Nothing of a service that the other cell may not serve. */
  #rowFor(feed: Feed, service: string, entries: number): readonly DigestRow[] {
    const { own, directory } = this.#options;
    const digest = own.get(service);
    const cell = directory.get(feed.cell);
    if (digest === null || cell === undefined) return [];
    if (!allows(own.regionsOf(service), cell)) return [];
    return [toRow({ ...digest, offered: offeredSlots(digest.warm, entries) })];
  }

  #every(periodMs: number, run: () => void): void {
    const timer = setInterval(run, periodMs);
    timer.unref();
    this.#timers.push(timer);
  }
}
