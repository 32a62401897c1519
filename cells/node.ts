/**
 * Everything by which one activator takes part in a platform of several cells: what it tells the
 * others, what it knows of them, its peer port, and the books of its cell. Absent where no cells
 * are configured, and then nothing of this costs anything.
 */
import type { TLSSocket } from "node:tls";
import type { ControlMessage } from "../common/contracts/cells.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import type { CellCalls } from "../store/cell-calls.ts";
import type { RoutingStore, StoreSubscriber } from "../store/types.ts";
import { BookKeeper } from "./book-keeper.ts";
import { Certificates } from "./certificates.ts";
import { ControlClient } from "./control-client.ts";
import { followCells } from "./follow-cells.ts";
import { ControlServer } from "./control-server.ts";
import type { CellEntry } from "./core/cell-entry.ts";
import { fromRow } from "./core/digest.ts";
import { Snapshot } from "./core/snapshot.ts";
import { DigestFeeds } from "./digest-feeds.ts";
import { CellDirectory } from "./directory.ts";
import { OwnDigests } from "./own-digests.ts";
import { PeerPort } from "./peer-port.ts";
import { readNews, writeNews } from "./cell-news.ts";

const NEWS_EVERY_MS = 50;
const ENTRIES_EVERY_MS = 1_000;

export interface CellNodeOptions {
  /** Name of this cell. */
  readonly own: string;
  readonly folder: string;
  readonly certificates: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly activatorId: string;
  readonly store: Pick<RoutingStore, "listRevisions" | "readRevision">;
  readonly calls: CellCalls;
  readonly subscriber: StoreSubscriber;
  readonly random: Random;
  readonly logger: Logger;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly onTraffic: (socket: TLSSocket, cell: string) => void;
  /** Services of which another cell said something new. */
  readonly onNews?: (services: readonly string[]) => void;
}

export class CellNode {
  readonly directory: CellDirectory;
  readonly certificates: Certificates;
  readonly own: OwnDigests;
  readonly snapshot = new Snapshot();
  readonly feeds: DigestFeeds;
  readonly port: PeerPort;
  readonly #options: CellNodeOptions;
  readonly #clients = new Map<string, ControlClient>();
  readonly #touched = new Set<RevisionKey>();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #books: BookKeeper;

  constructor(options: CellNodeOptions) {
    this.#options = options;
    const { logger, now, calls, store } = options;
    this.directory = new CellDirectory({ folder: options.folder, own: options.own, logger });
    this.certificates = new Certificates(options.certificates, logger);
    this.own = new OwnDigests({ store, calls, logger });
    this.feeds = new DigestFeeds({ own: this.own, directory: this.directory, now });
    this.#books = new BookKeeper({
      calls,
      directory: this.directory,
      logger,
      reachable: () => this.#reachable(),
      askAll: (service) => this.#publish({ hear: service }),
    });
    const control = new ControlServer({ feeds: this.feeds, books: this.#books, now });
    this.port = new PeerPort({
      certificates: this.certificates,
      directory: this.directory,
      logger,
      onControl: (socket, cell) => control.accept(socket, cell),
      onTraffic: options.onTraffic,
    });
  }

  async start(): Promise<{ readonly address: string; readonly port: number }> {
    const { subscriber, listen } = this.#options;
    this.directory.start();
    this.certificates.start();
    this.directory.onChange(() => this.#useCells());
    subscriber.onCells?.((message) => this.#onNews(message));
    subscriber.onConfig((revision) => void this.own.reread(revision));
    this.own.start();
    this.feeds.start();
    this.#every(NEWS_EVERY_MS, () => this.#publishTouched());
    this.#every(ENTRIES_EVERY_MS, () => this.#publish({ entries: this.feeds.entries }));
    const where = await this.port.listen(listen.host, listen.port);
    this.#useCells();
    return where;
  }

  stopAccepting(): void {
    this.port.stopAccepting();
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const client of this.#clients.values()) client.close();
    this.feeds.stop();
    this.own.stop();
    this.directory.stop();
    this.certificates.stop();
    this.port.close();
  }

  /** Declares a cell lost, here and in the books of every cell that can be reached. */
  async forget(cell: string): Promise<number> {
    for (const [name, client] of this.#clients) {
      if (name !== cell && client.isHeard) client.send({ kind: "forget", id: 0, cell });
    }
    return this.#books.forget(cell);
  }

  /** An activator of this cell changed something about a revision. */
  touch(revision: RevisionKey): void {
    if (this.own.touch(revision)) this.#touched.add(revision);
  }

  #useCells(): void {
    followCells(this.directory.others(), {
      clients: this.#clients,
      connect: (cell) => this.#connect(cell),
      forget: (name) => this.snapshot.forget(name),
    });
  }

  #connect(cell: CellEntry): void {
    const { random, now, own, activatorId } = this.#options;
    const client = new ControlClient(cell, {
      certificates: this.certificates,
      own,
      name: activatorId,
      digests: true,
      entry: true,
      random,
      now,
      onMessage: (message) => this.#onMessage(cell.name, message),
      onRoundTrip: (ms) => this.snapshot.tripTook(cell.name, ms),
    });
    this.#clients.set(cell.name, client);
    client.start();
  }

  #onMessage(cell: string, message: ControlMessage): void {
    // The first words of a sender that has not heard our clock yet say nothing about their age.
    if (message.kind !== "digest" || message.at === 0) return;
    const digests = message.rows.flatMap((row) => fromRow(row) ?? []);
    this.snapshot.learn(cell, digests, message.at, this.#options.now());
    if (message.completeSince !== undefined) this.snapshot.complete(cell, message.completeSince);
    this.#options.onNews?.(digests.map(({ service }) => service));
  }

  #reachable(): ReadonlySet<string> {
    const now = this.#options.now();
    const fresh = this.directory
      .others()
      .filter(({ name }) => this.snapshot.isFresh(name, now))
      .map(({ name }) => name);
    return new Set([this.directory.own, ...fresh]);
  }

  #publishTouched(): void {
    if (this.#touched.size === 0) return;
    this.#publish({ touched: [...this.#touched] });
    this.#touched.clear();
  }

  #publish(news: Parameters<typeof writeNews>[1]): void {
    const { calls, activatorId } = this.#options;
    // A lost message is made up for by the whole, each second.
    calls.publish(writeNews(activatorId, news)).catch(() => undefined);
  }

  #onNews(message: string): void {
    const news = readNews(message);
    if (news === null) return;
    if (news.hear !== undefined) this.feeds.broadcast({ kind: "hear", service: news.hear });
    if (news.from === this.#options.activatorId) return;
    if (news.entries !== undefined) this.feeds.noteElsewhere(news.from, news.entries);
    for (const revision of news.touched ?? []) this.own.touch(revision);
  }

  #every(periodMs: number, run: () => void): void {
    const timer = setInterval(run, periodMs);
    timer.unref();
    this.#timers.push(timer);
  }
}
