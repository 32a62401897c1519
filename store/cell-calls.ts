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
  /** A mark that is there as long as the store has lost nothing since its first book. */
  readBooksMark(): Promise<string | null>;
  writeBooksMark(mark: string): Promise<void>;
  /** Writes it where there is none, and answers the one that is there then. */
  makeBooksMark(mark: string): Promise<string>;
  /** To every activator of this cell: services whose digest changed, opaque here. */
  publish(message: string): Promise<void>;
}

const SHARE_FIELD = "s:";

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
    readBooksMark: () => caller.command((client) => client.get(keys.booksMark)),
    writeBooksMark: async (mark) => {
      await caller.command((client) => client.set(keys.booksMark, mark));
    },
    makeBooksMark: async (mark) => {
      await caller.command((client) => client.set(keys.booksMark, mark, "NX"));
      return (await caller.command((client) => client.get(keys.booksMark))) ?? mark;
    },
    publish: async (message) => {
      await caller.command((client) => client.publish(keys.cellsChannel, message));
    },
  };
}

function isServiceKey(text: string): text is ServiceKey {
  return text.includes("/");
}
