/** The end of control streams that other cells opened to this activator. */
import type { TLSSocket } from "node:tls";
import type { ControlMessage } from "../common/contracts/cells.ts";
import type { BookKeeper } from "./book-keeper.ts";
import type { DigestFeeds, Feed } from "./digest-feeds.ts";
import { LineStream } from "./line-stream.ts";

export interface ControlServerOptions {
  readonly feeds: DigestFeeds;
  readonly books: BookKeeper;
  readonly now: () => number;
}

export class ControlServer {
  readonly #options: ControlServerOptions;

  constructor(options: ControlServerOptions) {
    this.#options = options;
  }

  /** `cell` is what the peer's certificate proved. */
  accept(socket: TLSSocket, cell: string): void {
    const { feeds, now } = this.#options;
    let feed: Feed | undefined;
    const stream = new LineStream(socket, {
      onMessage: (message) => {
        if (message.kind === "hello") {
          // Whatever it calls itself, its certificate says which cell it is.
          const { name, digests: wantsDigests, entry: isEntry } = message;
          feed = { cell, name, stream, wantsDigests, isEntry, echo: 0, heardAt: now() };
          feeds.add(feed);
        } else if (feed !== undefined) {
          this.#onMessage(feed, message);
        }
      },
      onClose: () => {
        if (feed !== undefined) feeds.remove(feed);
      },
    });
  }

  /** What the other end asks; its other words, and those of a newer version, change nothing. */
  #onMessage(feed: Feed, message: ControlMessage): void {
    const { feeds, books } = this.#options;
    if (message.kind === "ping") feeds.pinged(feed, message.at);
    else if (message.kind === "share") void this.#settle(feed, message);
    // Not on record: the cell comes back on a new stream, and tells all again.
    else if (message.kind === "told") {
      books.told(feed.cell, message.mark).catch(() => feed.stream.close());
    } else if (message.kind === "forget") void this.#forget(feed, message);
  }

  async #settle(feed: Feed, message: Extract<ControlMessage, { kind: "share" }>): Promise<void> {
    // Unanswered when the store is away: the cell keeps what it holds, and asks again.
    const reply = await this.#options.books.settle(feed.cell, message).catch(() => null);
    if (reply !== null) feed.stream.send(reply);
  }

  async #forget(
    feed: Feed,
    { id, cell }: Extract<ControlMessage, { kind: "forget" }>,
  ): Promise<void> {
    // Nothing is answered when the store is away: the operator asks again.
    const pods = await this.#options.books.forget(cell).catch(() => null);
    if (pods !== null) feed.stream.send({ kind: "forgotten", id, pods });
  }
}
