/** The mark of the books, and who is believed to have told all: on a real store, with what may come between. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BookKeeper } from "../../../cells/book-keeper.ts";
import { ControlServer } from "../../../cells/control-server.ts";
import { DigestFeeds } from "../../../cells/digest-feeds.ts";
import { CellDirectory } from "../../../cells/directory.ts";
import { LineStream } from "../../../cells/line-stream.ts";
import { OwnDigests } from "../../../cells/own-digests.ts";
import type { ControlMessage } from "../../../common/contracts/cells.ts";
import { createLogger } from "../../../foundation/logger.ts";
import type { CellCalls } from "../../../store/cell-calls.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const CELLS = ["eu", "us", "ap"] as const;
const SERVICE = "default/echo";
const logger = createLogger({ name: "books", level: "silent" });

let server: ValkeyServer;
let handle: StoreHandle;
let prefix = "";
let folder = "";
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
beforeEach(async () => {
  prefix = server.freshPrefix();
  handle = createStore({ url: server.url, prefix });
  await handle.ready();
  folder = mkdtempSync(join(tmpdir(), "pilotlight-books-"));
  for (const name of CELLS) {
    writeFileSync(join(folder, name), JSON.stringify({ region: name, peer: "127.0.0.1:1" }));
  }
});
afterEach(async () => {
  await handle.close();
  rmSync(folder, { recursive: true });
});

/** The keeper of eu, which reaches every cell. */
function keeperOf(calls: CellCalls, reachable: readonly string[] = CELLS): BookKeeper {
  return new BookKeeper({
    calls,
    directory: new CellDirectory({ folder, own: "eu", logger }),
    logger,
    reachable: () => new Set(reachable),
    askAll: () => undefined,
  });
}

const readMark = (): ReturnType<CellCalls["readBooksMark"]> =>
  handle.cells.readBooksMark(() => "fresh");

async function emptyStore(): Promise<void> {
  const keys = await server.admin.keys(`${prefix}*`);
  await server.admin.del(...keys);
}

const share = (cell: string, holds: number): Extract<ControlMessage, { kind: "share" }> => ({
  kind: "share",
  id: 1,
  service: SERVICE,
  number: 1,
  holds,
  wants: cell === "eu" ? 5 : holds,
  max: 6,
  movedFrom: "",
});

describe("the mark of the books", () => {
  it("keeps the words of cells that speak at the same moment", async () => {
    const { id } = await readMark();
    const words = CELLS.map((cell) => keeperOf(handle.cells).told(cell, id));
    await Promise.all(words);
    const told = Object.fromEntries((await readMark()).cells);
    expect(told).toEqual({ ap: "told", eu: "told", us: "told" });
  });

  it("of a store that was emptied knows nothing of what was told before", async () => {
    const keeper = keeperOf(handle.cells);
    const { id } = await readMark();
    await emptyStore();
    await keeper.told("us", id);
    const after = await handle.cells.readBooksMark(() => "second");
    expect([after.id, after.cells.size]).toEqual(["second", 0]);
  });

  it("takes a cell that speaks again as heard, whatever an operator had said", async () => {
    const keeper = keeperOf(handle.cells);
    const { id } = await readMark();
    await keeper.forget("us");
    expect((await readMark()).cells.get("us")).toBe("lost");
    await keeper.told("us", id);
    expect((await readMark()).cells.get("us")).toBe("told");
  });
});

describe("a book", () => {
  it("grants nothing on a mark that went with the store in the meantime", async () => {
    const { id } = await readMark();
    for (const cell of CELLS) await handle.cells.noteInBooksMark(id, cell, "told");
    // Ap holds all there is, and cannot be reached; its word is lost with the store.
    await handle.cells.settleShare(SERVICE, { ...share("ap", 6), cell: "ap", mustHear: [] });
    const losing: CellCalls = {
      ...handle.cells,
      settleShare: async (...args) => {
        await emptyStore();
        await handle.cells.settleShare(SERVICE, { ...share("us", 0), cell: "us", mustHear: [] });
        return handle.cells.settleShare(...args);
      },
    };
    const reply = await keeperOf(losing, ["eu", "us"]).settle("eu", share("eu", 0));
    expect(reply).toMatchObject({ outcome: "failed", share: 0 });
  });
});

describe("a cell that says it told all", () => {
  it("is believed once what it told before is on record", async () => {
    const { id } = await readMark();
    const gate = Promise.withResolvers<void>();
    const slow: CellCalls = {
      ...handle.cells,
      settleShare: async (...args) => {
        await gate.promise;
        return handle.cells.settleShare(...args);
      },
    };
    const { stream, closed } = connectCell("us", slow);
    stream.send(share("us", 4));
    stream.send({ kind: "told", mark: id });
    stream.send({ kind: "ping", at: 1 });
    await eventually(() => received.includes("pong"));
    expect((await readMark()).cells.size).toBe(0);
    gate.resolve();
    await eventually(async () => (await readMark()).cells.get("us") === "told");
    expect((await handle.cells.readBook(SERVICE)).get("us")).toBe(4);
    expect(closed()).toBe(false);
    stream.close();
  });

  it("is asked to come back where some of it is not", async () => {
    const { id } = await readMark();
    const failing: CellCalls = {
      ...handle.cells,
      settleShare: () => Promise.reject(new Error("the store is away")),
    };
    const { stream, closed } = connectCell("us", failing);
    stream.send(share("us", 4));
    stream.send({ kind: "told", mark: id });
    await eventually(() => closed());
    expect((await readMark()).cells.size).toBe(0);
  });
});

let received: string[] = [];

/** The end of a cell on a control stream to eu. */
function connectCell(
  cell: string,
  calls: CellCalls,
): { readonly stream: LineStream; readonly closed: () => boolean } {
  const own = new OwnDigests({ store: handle.store, calls, logger });
  const directory = new CellDirectory({ folder, own: "eu", logger });
  const feeds = new DigestFeeds({ own, directory, now: () => performance.now() });
  const control = new ControlServer({ feeds, books: keeperOf(calls), now: () => 0 });
  const [near, far] = duplexPair();
  control.accept(far, cell);
  let isClosed = false;
  received = [];
  const stream = new LineStream(near, {
    onMessage: ({ kind }) => received.push(kind),
    onClose: () => (isClosed = true),
  });
  stream.send({ kind: "hello", cell, name: "a", digests: false, entry: false });
  return { stream, closed: () => isClosed };
}
