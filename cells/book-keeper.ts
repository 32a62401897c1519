/**
 * The books of services whose home is this cell: takes what cells say they hold, grants what is
 * free, and grants nothing before it has heard those who may hold something it does not know of.
 *
 * The mark in the store is there as long as nothing was lost. It names the cells that told all they
 * hold since it was made; until all have, any of them may hold pods of a book that looks empty.
 */
import { randomBytes } from "node:crypto";
import type { ControlReply, ControlRequest } from "../common/contracts/cells.ts";
import type { Logger } from "../foundation/logger.ts";
import type { BooksMark, CellCalls, ServiceKey } from "../store/cell-calls.ts";
import type { CellDirectory } from "./directory.ts";

type ShareRequest = Extract<ControlRequest, { kind: "share" }>;
type ShareReply = Extract<ControlReply, { kind: "granted" }>;

export interface BookKeeperOptions {
  readonly calls: CellCalls;
  readonly directory: CellDirectory;
  readonly logger: Logger;
  /** Cells that can be reached now, so that they answer when asked. */
  readonly reachable: () => ReadonlySet<string>;
  /** Asks every cell what it holds of a service. */
  readonly askAll: (service: string) => void;
}

export class BookKeeper {
  readonly #options: BookKeeperOptions;

  constructor(options: BookKeeperOptions) {
    this.#options = options;
  }

  async settle(cell: string, request: ShareRequest): Promise<ShareReply> {
    const { calls, logger, askAll } = this.#options;
    const { id, service, number, holds, wants, max } = request;
    try {
      const mark = await this.#mark();
      const reply = await calls.settleShare(service as ServiceKey, {
        cell,
        number,
        holds,
        wants,
        max,
        mustHear: this.#mustHear(mark, request.movedFrom !== ""),
      });
      // The store was lost in between: who had to be heard was judged by what is gone.
      if ((await this.#mark()).id !== mark.id) return notSettled(request);
      if (reply.kind === "hearing") askAll(service);
      const { kind: outcome, share, numberOnRecord, unheard } = reply;
      const free = outcome === "ok" ? freePods(max, reply.granted) : 0;
      return { kind: "granted", id, outcome, share, numberOnRecord, free, unheard, mark: mark.id };
    } catch (error) {
      logger.debug("share not settled", { cell, service, error });
      return notSettled(request);
    }
  }

  /** A cell has told all it holds in books of this cell. */
  async told(cell: string, mark: string): Promise<void> {
    await this.#options.calls.noteInBooksMark(mark, cell, "told");
  }

  /** Declares a cell lost in every book kept here; answers the pods that it held. */
  async forget(cell: string): Promise<number> {
    const { calls, logger } = this.#options;
    const services = await calls.listBooks();
    const held = await Promise.all(services.map((service) => calls.forgetCell(service, cell)));
    await calls.noteInBooksMark((await this.#mark()).id, cell, "lost");
    const pods = held.reduce((sum, count) => sum + count, 0);
    logger.warn("cell declared lost", { cell, pods, services: services.length });
    return pods;
  }

  /** Of whom a book must know something before it grants anything. */
  #mustHear({ cells }: BooksMark, moved: boolean): readonly string[] {
    const reachable = this.#options.reachable();
    const known = this.#options.directory
      .all()
      .map(({ name }) => name)
      .filter((name) => reachable.has(name) || cells.get(name) !== "lost");
    const isWhole = known.every((name) => cells.get(name) === "told");
    if (!isWhole || moved) return known;
    // A service may have moved here from another home, and the others still hold what that granted.
    return known.filter((name) => reachable.has(name));
  }

  /** Made anew where the store has lost it, and then nobody has told anything yet. */
  #mark(): Promise<BooksMark> {
    return this.#options.calls.readBooksMark(() => randomBytes(6).toString("hex"));
  }
}

/** Changes nothing for the cell: it asks again. */
function notSettled({ id, number, holds }: ShareRequest): ShareReply {
  const nothing = { share: holds, numberOnRecord: number, free: 0, unheard: [], mark: "" };
  return { kind: "granted", id, outcome: "failed", ...nothing };
}

/** Without a limit as many as a cell could ever ask for at once. */
function freePods(max: number, granted: number): number {
  return max === 0 ? UNLIMITED_PODS : Math.max(0, max - granted);
}

const UNLIMITED_PODS = 1_000;
