/** The end of control streams that other cells opened to this activator. */
import type { Duplex } from "node:stream";
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
  accept(socket: Duplex, cell: string): void {
    const { feeds, now } = this.#options;
    let feed: Feed | undefined;
    const settling = new Set<Promise<boolean>>();
    const stream = new LineStream(socket, {
      onMessage: (message) => {
        if (message.kind === "hello") {
          // Whatever it calls itself, its certificate says which cell it is.
          const { name, digests: wantsDigests, entry: isEntry } = message;
          feed = { cell, name, stream, wantsDigests, isEntry, echo: 0, heardAt: now() };
          feeds.add(feed);
        } else if (feed !== undefined) {
          this.#onMessage(feed, settling, message);
        }
      },
      onClose: () => {
        if (feed !== undefined) feeds.remove(feed);
      },
    });
  }

  /** What the other end asks; its other words, and those of a newer version, change nothing. */
  #onMessage(feed: Feed, settling: Set<Promise<boolean>>, message: ControlMessage): void {
    const { feeds } = this.#options;
    if (message.kind === "ping") feeds.pinged(feed, message.at);
    else if (message.kind === "share") {
      const settled = this.#settle(feed, message).finally(() => settling.delete(settled));
      settling.add(settled);
    } else if (message.kind === "told") void this.#told(feed, [...settling], message.mark);
    else if (message.kind === "forget") void this.#forget(feed, message);
  }

  /** Answers whether what the cell holds is on record. */
  async #settle(feed: Feed, message: Extract<ControlMessage, { kind: "share" }>): Promise<boolean> {
    const reply = await this.#options.books.settle(feed.cell, message);
    feed.stream.send(reply);
    return reply.outcome !== "failed";
  }

  /** Its last word is worth as much as those before it: none of them may be missing in the books. */
  async #told(feed: Feed, before: readonly Promise<boolean>[], mark: string): Promise<void> {
    try {
      const onRecord = await Promise.all(before);
      if (onRecord.every(Boolean)) return await this.#options.books.told(feed.cell, mark);
    } catch {
      // The store is away.
    }
    // The cell comes back on a new stream, and tells all again.
    feed.stream.close();
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
