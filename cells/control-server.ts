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

  // oxlint-disable-next-line complexity -- one case per message
  #onMessage(feed: Feed, message: ControlMessage): void {
    const { feeds, books } = this.#options;
    switch (message.kind) {
      case "ping":
        return feeds.pinged(feed, message.at);
      case "share":
        return void books
          .settle(feed.cell, message)
          .then((reply) => feed.stream.send(reply))
          .catch(() => undefined);
      case "told":
        return void books.told(feed.cell, message.mark).catch(() => undefined);
      case "forget":
        return void this.#forget(feed, message);
      // Words of the other end.
      case "digest":
      case "forgotten":
      case "granted":
      case "hear":
      case "hello":
      case "pong":
        return undefined;
    }
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
