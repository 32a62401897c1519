/**
 * What a cell keeps in its store for the other cells: readings for digests, the facts that its
 * autoscaler adds, its own part of each book, and the books of which it is the home.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { forgetCell, readDigest, settleShare } from "./bindings/cells.ts";
import type { DigestReading, ShareMessage, ShareReply } from "./bindings/cells.ts";
import type { Keys } from "./keys.ts";
import type { ScriptCaller } from "./script-caller.ts";

/** `namespace/name` of a service; has the form of a revision's key. */
export type ServiceKey = RevisionKey;

export interface CellCalls {
  readDigest(revision: RevisionKey): Promise<DigestReading | null>;
  writeFacts(revision: RevisionKey, facts: string): Promise<void>;
  settleShare(service: ServiceKey, message: ShareMessage): Promise<ShareReply>;
  forgetCell(service: ServiceKey, cell: string): Promise<number>;
  /** Shares of a service by cell, as its home knows them. */
  readBook(service: ServiceKey): Promise<ReadonlyMap<string, number>>;
  /** Services whose books are kept here. */
  listBooks(): Promise<readonly ServiceKey[]>;
  /** What this cell may run of a service, an opaque text; null when the store knows nothing. */
  readOwnShare(service: ServiceKey): Promise<string | null>;
  writeOwnShare(service: ServiceKey, share: string): Promise<void>;
  /** Made with the id `fresh` where there is none. */
  readBooksMark(fresh: () => string): Promise<BooksMark>;
  /** Changes one cell of the mark and no other; without effect on a mark of another id. */
  noteInBooksMark(id: string, cell: string, word: MarkWord): Promise<void>;
  /** To every activator of this cell: services whose digest changed, opaque here. */
  publish(message: string): Promise<void>;
}

/** `told`: all that the cell holds is in the books; `lost`: an operator said so, it told nothing since. */
export type MarkWord = "told" | "lost";

/** There as long as the store has lost nothing since its first book. */
export interface BooksMark {
  readonly id: string;
  readonly cells: ReadonlyMap<string, MarkWord>;
}

const SHARE_FIELD = "s:";
/** Beside it a field per cell, whose name begins with the id: words for a lost mark change nothing. */
const MARK_ID_FIELD = "id";

export function createCellCalls(caller: ScriptCaller, keys: Keys): CellCalls {
  const book = (service: ServiceKey): string => keys.one(service, "book");
  return {
    readDigest: (revision) => caller.call(readDigest, revision, undefined),
    writeFacts: async (revision, facts) => {
      await caller.command((client) => client.set(keys.one(revision, "cell"), facts));
    },
    settleShare: async (service, message) => {
      const reply = await caller.call(settleShare, service, message);
      await caller.command((client) => client.sadd(keys.books, service));
      return reply;
    },
    forgetCell: (service, cell) => caller.call(forgetCell, service, { cell }),
    readBook: async (service) => {
      const fields = await caller.command((client) => client.hgetall(book(service)));
      const shares = Object.entries(fields).filter(([field]) => field.startsWith(SHARE_FIELD));
      return new Map(
        shares.map(([field, share]) => [field.slice(SHARE_FIELD.length), Number(share)]),
      );
    },
    listBooks: async () => {
      const members = await caller.command((client) => client.smembers(keys.books));
      return members.filter(isServiceKey).toSorted();
    },
    readOwnShare: (service) => caller.command((client) => client.get(keys.one(service, "share"))),
    writeOwnShare: async (service, share) => {
      await caller.command((client) => client.set(keys.one(service, "share"), share));
    },
    readBooksMark: async (fresh) => {
      const read = (): Promise<Record<string, string>> =>
        caller.command((client) => client.hgetall(keys.booksMark));
      const known = toMark(await read());
      if (known !== null) return known;
      await caller.command((client) => client.hsetnx(keys.booksMark, MARK_ID_FIELD, fresh()));
      return toMark(await read()) ?? { id: "", cells: new Map() };
    },
    noteInBooksMark: async (id, cell, word) => {
      await caller.command((client) => client.hset(keys.booksMark, `${id} ${cell}`, word));
    },
    publish: async (message) => {
      await caller.command((client) => client.publish(keys.cellsChannel, message));
    },
  };
}

function toMark(fields: Readonly<Record<string, string>>): BooksMark | null {
  const id = fields[MARK_ID_FIELD];
  if (id === undefined) return null;
  const start = `${id} `;
  const cells = Object.entries(fields)
    .filter(([field]) => field.startsWith(start))
    // Written by `noteInBooksMark`.
    .map(([field, word]) => [field.slice(start.length), word as MarkWord] as const);
  return { id, cells: new Map(cells) };
}

function isServiceKey(text: string): text is ServiceKey {
  return text.includes("/");
}
