/** The book of shares on a real store, against what must hold whatever is lost or late. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OwnShare } from "../../../cells/core/own-share.ts";
import { createRandom } from "../../../common/random.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const SERVICE = "default/echo";
const CELLS = ["eu", "us", "ap"] as const;
const MAX = 7;

let server: ValkeyServer;
let handle: StoreHandle;
beforeAll(async () => {
  server = await startValkey();
  handle = createStore({ url: server.url, prefix: server.freshPrefix() });
  await handle.ready();
});
afterAll(async () => {
  await handle.close();
  await server.stop();
});

type Ask = ReturnType<OwnShare["ask"]>;

const settle = (
  service: `${string}/${string}`,
  cell: string,
  ask: Ask,
  mustHear: readonly string[] = [],
): ReturnType<StoreHandle["cells"]["settleShare"]> =>
  handle.cells.settleShare(service, { ...ask, cell, max: MAX, mustHear });

describe("a book of shares", () => {
  it("grants nothing before it has heard those that it must", async () => {
    const eu = new OwnShare(null, 0);
    const first = await settle(
      "default/hear",
      "eu",
      eu.ask({ wants: 3, inUse: 0, home: "eu" }),
      CELLS,
    );
    expect(first).toMatchObject({ kind: "hearing", share: 0, unheard: ["us", "ap"] });
    for (const cell of ["us", "ap"] as const) {
      const other = new OwnShare({ holds: 2, number: 0, home: "eu" }, 0);
      await settle("default/hear", cell, other.ask({ wants: 2, inUse: 2, home: "eu" }), CELLS);
    }
    const again = await settle(
      "default/hear",
      "eu",
      eu.ask({ wants: 9, inUse: 0, home: "eu" }),
      CELLS,
    );
    expect(again).toMatchObject({ kind: "ok", share: 3, granted: 7 });
  });

  it("answers a late message with what is on record, and changes nothing", async () => {
    const eu = new OwnShare(null, 0);
    const early = eu.ask({ wants: 1, inUse: 0, home: "eu" });
    const late = eu.ask({ wants: 5, inUse: 0, home: "eu" });
    await settle("default/late", "eu", late);
    expect(await settle("default/late", "eu", early)).toMatchObject({ kind: "old", share: 5 });
    expect((await handle.cells.readBook("default/late")).get("eu")).toBe(5);
  });

  it("gives what a forgotten cell held to the others", async () => {
    const us = new OwnShare({ holds: 6, number: 0, home: "eu" }, 0);
    await settle("default/lost", "us", us.ask({ wants: 6, inUse: 6, home: "eu" }));
    const eu = new OwnShare(null, 0);
    const before = await settle("default/lost", "eu", eu.ask({ wants: 5, inUse: 0, home: "eu" }));
    eu.answered("eu", eu.state.number, before);
    expect(eu.holds).toBe(1);
    expect(await handle.cells.forgetCell("default/lost", "us")).toBe(6);
    const after = await settle("default/lost", "eu", eu.ask({ wants: 5, inUse: 1, home: "eu" }));
    expect(after.share).toBe(5);
  });

  it("never lets cells hold more than max together, whatever answers and messages are lost", async () => {
    const walk = new ShareWalk();
    const over: number[] = [];
    for (let step = 0; step < 600; step += 1) {
      await walk.step();
      if (walk.held > MAX) over.push(step);
    }
    expect(over).toEqual([]);
  });
});

/** Cells that ask at random, on a wire that loses and delays. */
class ShareWalk {
  readonly #random = createRandom(5);
  readonly #shares = CELLS.map((cell) => ({ cell, share: new OwnShare(null, 0), inUse: 0 }));
  readonly #delayed: (() => Promise<unknown>)[] = [];

  get held(): number {
    return this.#shares.reduce((total, { share }) => total + share.holds, 0);
  }

  async step(): Promise<void> {
    const random = this.#random;
    const one = this.#shares[Math.floor(random() * CELLS.length)];
    if (one === undefined) return;
    const { cell, share } = one;
    const ask = share.ask({ wants: Math.floor(random() * 9), inUse: one.inUse, home: "eu" });
    const fate = random();
    // Lost, or later than others.
    if (fate < 0.1) this.#delayed.push(() => settle(SERVICE, cell, ask));
    const reply = fate < 0.2 ? null : await settle(SERVICE, cell, ask);
    if (reply !== null && fate > 0.4) share.answered("eu", ask.number, reply);
    if (random() < 0.2) await this.#delayed.shift()?.();
    one.inUse = Math.min(share.holds, Math.floor(random() * 9));
  }
}
