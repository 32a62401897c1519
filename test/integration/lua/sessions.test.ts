/** Sessions on the real scripts: who stays where, who waits, who is told that its pod is gone. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { CallDetails } from "../../../store/types.ts";
import { REVISION, acquireRequest } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
let rig: StoreRig;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
beforeEach(async () => {
  rig = await new StoreRig(server).start();
  for (const uid of ["a", "b", "c"]) await rig.report(uid);
});
afterEach(() => rig.close());

const soft = (id: string): CallDetails => ({ session: { id, affinity: "soft" } });
const strict = (id: string): CallDetails => ({ session: { id, affinity: "strict" } });
const ask = async (id: string): Promise<string> => {
  const result = await rig.store.askTicket(REVISION, id);
  return result.kind === "leased" ? result.lease.targetUid : result.kind;
};

/** A session whose last request ran on `b`, and all is idle again. */
async function atHomeOnB(call: CallDetails): Promise<void> {
  await rig.store.acquireLease(acquireRequest("other"));
  expect(await rig.choose({ call })).toBe("b");
  await rig.release("r1");
  await rig.release("other");
}

describe.each([
  "first-available",
  "round-robin",
  "min-connections",
  "random-choice-2",
  "speed-aware",
] as const)("a session under %s", (policy) => {
  test("stays on the target that served it while that has a slot", async () => {
    await rig.close();
    rig = await new StoreRig(server).start({ policy });
    for (const uid of ["a", "b", "c"]) await rig.report(uid);
    const home = await rig.choose({ call: soft("s") });
    await rig.release("r1");
    for (const uid of ["a", "b", "c"].filter((other) => other !== home)) {
      const exclude = ["a", "b", "c"].filter((other) => other !== uid);
      expect(await rig.choose({ call: soft(`of ${uid}`), exclude })).toBe(uid);
    }
    await rig.release("r2");
    await rig.release("r3");
    for (let round = 4; round < 8; round += 1) {
      expect(await rig.choose({ call: soft("s") })).toBe(home);
      await rig.release(`r${round}`);
    }
  });
});

test("a session's home moves round robin back within a batch as it does in single calls", async () => {
  await rig.close();
  rig = await new StoreRig(server).start({ policy: "round-robin" });
  for (const uid of ["a", "b", "c"]) await rig.report(uid, { capacity: 3 });
  expect(await rig.choose({ call: soft("s") })).toBe("a");
  const turn = [{}, {}, { call: soft("s") }, {}];
  const batch = await Promise.all(turn.map((changes) => rig.choose(changes)));
  expect(batch).toEqual(["b", "c", "a", "b"]);
});

describe("soft affinity", () => {
  test("goes elsewhere rather than wait, and is at home there then", async () => {
    await atHomeOnB(soft("s"));
    expect(await rig.choose({ call: soft("t"), exclude: ["a", "c"] })).toBe("b");
    expect(await rig.choose({ call: soft("s") })).toBe("a");
    await rig.release("r2");
    await rig.release("r3");
    expect(await rig.choose({ call: soft("s") })).toBe("a");
  });

  test("does not wait in a local queue while another target is idle", async () => {
    await rig.close();
    const early = { binding: "early", localQueue: 4, policy: "speed-aware" } as const;
    rig = await new StoreRig(server).start(early);
    for (const uid of ["a", "b"]) await rig.report(uid);
    const home = await rig.choose({ call: soft("s") });
    expect(await rig.choose({ call: soft("s") })).not.toBe(home);
  });

  test("avoids a target that is not ready, excluded or gone", async () => {
    await atHomeOnB(soft("s"));
    expect(await rig.choose({ call: soft("s"), exclude: ["b"] })).toBe("a");
    await rig.release("r2");
    await atHomeOnB(soft("u"));
    await rig.report("b", { state: "unready" });
    expect(await rig.choose({ call: soft("u") })).toBe("a");
  });
});

describe("strict affinity", () => {
  test("waits for its target and takes its next slot, while others are served elsewhere", async () => {
    await atHomeOnB(strict("s"));
    expect(await rig.choose({ call: strict("s") })).toBe("b");
    expect(await rig.choose({ call: strict("s") })).toBe("wait");
    // The others are free all the same, and a slot of theirs is not offered to it.
    expect(await rig.choose()).toBe("a");
    await rig.release("r4");
    expect(await ask("r3")).toBe("waiting");
    // A sweep counts those that wait anew.
    await rig.liveMs(1_500);
    expect((await rig.store.readFigures(REVISION, { record: false })).waiting).toBe(1);
    await rig.release("r2");
    expect(await ask("r3")).toBe("b");
    expect((await rig.store.readFigures(REVISION, { record: false })).waiting).toBe(0);
  });

  test("neither starves the others nor is starved by them", async () => {
    await atHomeOnB(strict("s"));
    for (const [uid, id] of [
      ["a", "x"],
      ["b", "y"],
      ["c", "z"],
    ] as const) {
      const exclude = ["a", "b", "c"].filter((other) => other !== uid);
      const call = uid === "b" ? strict("s") : soft(id);
      await rig.store.acquireLease(
        acquireRequest(id, { call, exclude: call.session?.id === "s" ? [] : exclude }),
      );
    }
    for (const [id, call] of [
      ["w1", undefined],
      ["w2", strict("s")],
      ["w3", undefined],
      ["w4", strict("s")],
    ] as const) {
      rig.passMs(1);
      await rig.store.acquireLease(acquireRequest(id, call === undefined ? {} : { call }));
    }
    await rig.release("y");
    expect(await ask("w1")).toBe("b");
    await rig.release("w1");
    expect(await ask("w2")).toBe("b");
    await rig.release("x");
    expect([await ask("w3"), await ask("w4")]).toEqual(["a", "waiting"]);
    await rig.release("w2");
    expect(await ask("w4")).toBe("b");
  });

  test("serves a hundred that wait for one target past a hundred that wait for another", async () => {
    await atHomeOnB(strict("s"));
    expect(await rig.choose({ call: strict("s") })).toBe("b");
    expect(await rig.choose()).toBe("a");
    expect(await rig.choose()).toBe("c");
    for (let round = 0; round < 100; round += 1) {
      await rig.store.acquireLease(acquireRequest(`bound-${round}`, { call: strict("s") }));
    }
    await rig.store.acquireLease(acquireRequest("free"));
    await rig.release("r3");
    expect(await ask("free")).toBe("a");
  });

  test("of a hundred requests that came before any target keeps nobody else from a free one", async () => {
    await rig.close();
    rig = await new StoreRig(server).start();
    const burst = Array.from({ length: 100 }, (_, index) => `first-${index}`);
    for (const id of burst) {
      rig.passMs(1);
      await rig.store.acquireLease(acquireRequest(id, { call: strict("s") }));
    }
    await rig.store.acquireLease(acquireRequest("free"));
    await rig.report("a");
    await rig.report("b");
    // One call looks at a bounded number of them, and a renewal goes on from there.
    await rig.store.renewActivator(REVISION, "act-1");
    expect([await ask("free"), await ask("first-0")]).toEqual(["b", "a"]);
    await rig.release("free");
    for (const [index, id] of burst.entries()) {
      expect(await ask(id)).toBe("a");
      if (index + 1 < burst.length) expect(await ask(burst[index + 1] ?? "")).toBe("waiting");
      await rig.release(id);
    }
    expect(await rig.target("b")).toMatchObject({ inFlight: 0 });
  });

  test("is told when its target is gone, at once or while it waits", async () => {
    await atHomeOnB(strict("s"));
    expect(await rig.choose({ call: strict("s") })).toBe("b");
    expect(await rig.choose({ call: strict("s") })).toBe("wait");
    await rig.store.removeTarget(REVISION, "b", "gone");
    expect(await ask("r3")).toBe("session-lost");
    expect(await rig.store.cancelTicket(REVISION, "r3")).toBe(true);
    expect((await rig.store.readFigures(REVISION, { record: false })).waiting).toBe(0);
    expect(await rig.choose({ call: strict("s") })).toBe("session-lost");
    expect(await rig.choose({ call: strict("another") })).toBe("a");
  });

  test("waits while its target may come back", async () => {
    await atHomeOnB(strict("s"));
    await rig.report("b", { state: "unready" });
    expect(await rig.choose({ call: strict("s") })).toBe("wait");
    expect(await ask("r2")).toBe("waiting");
    await rig.report("b");
    expect(await ask("r2")).toBe("b");
  });

  test("keeps two first requests of one session together", async () => {
    for (const id of ["x", "y", "z"]) await rig.store.acquireLease(acquireRequest(id));
    expect(await rig.choose({ call: strict("s") })).toBe("wait");
    expect(await rig.choose({ call: strict("s") })).toBe("wait");
    await rig.release("y");
    expect(await ask("r1")).toBe("b");
    await rig.release("x");
    expect(await ask("r2")).toBe("waiting");
    await rig.release("r1");
    expect(await ask("r2")).toBe("b");
  });
});

describe("what is remembered", () => {
  test("ends after an hour without use", async () => {
    await atHomeOnB(soft("s"));
    for (let hour = 0; hour < 3; hour += 1) {
      rig.passMs(3_500_000);
      expect(await rig.choose({ call: soft("s") })).toBe("b");
      await rig.release(`r${hour + 2}`);
    }
    rig.passMs(3_700_000);
    expect(await rig.choose({ call: soft("s") })).toBe("a");
  });

  test("is bounded: the longest unused goes", { timeout: 60_000 }, async () => {
    await rig.close();
    rig = await new StoreRig(server).start({ containerConcurrency: 0 });
    await rig.report("a", { capacity: 0 });
    for (let from = 0; from < 10_200; from += 300) {
      rig.passMs(1);
      await Promise.all(
        Array.from({ length: 300 }, (_, index) =>
          rig.store.acquireLease(
            acquireRequest(`n${from + index}`, { call: soft(`s${from + index}`) }),
          ),
        ),
      );
    }
    const owned = `${rig.prefix}{${REVISION}}:owned`;
    expect(await server.admin.zlexcount(owned, "[s\u0001", "(s\u0002")).toBe(10_000);
    expect(await server.admin.zlexcount(owned, "[n\u0001", "(n\u0002")).toBe(10_000);
    expect(
      await server.admin.zlexcount(owned, "[n\u0001s10199\u0000", "(n\u0001s10199\u0001"),
    ).toBe(1);
  });
});
