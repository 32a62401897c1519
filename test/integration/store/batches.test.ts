/** Calls of one turn go out together, and mean the same as one after the other. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../../../common/random.ts";
import type { AcquireResult, ReleaseOutcome } from "../../../store/types.ts";
import { dumpRouting } from "../../support/routing-dump.ts";
import { findFaults } from "../../support/routing-invariants.ts";
import { REVISION, acquireRequest } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
const rigs: StoreRig[] = [];
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function startRig(): Promise<StoreRig> {
  const rig = await new StoreRig(server).start({ policy: "random-choice-2", queueDepth: 6 });
  rigs.push(rig);
  for (const uid of ["a", "b", "c", "d"]) await rig.report(uid, { capacity: 2 });
  return rig;
}

/** All but the names of the channels, which differ by prefix. */
async function dumpOf({ prefix }: StoreRig): Promise<unknown> {
  const dump = await dumpRouting(server.admin, prefix, REVISION);
  expect(findFaults(dump)).toEqual([]);
  const names = new Set(["channel", "wake"]);
  return { ...dump, meta: new Map([...dump.meta].filter(([name]) => !names.has(name))) };
}

type Call = (rig: StoreRig) => Promise<AcquireResult | void>;

const OUTCOMES: readonly ReleaseOutcome[] = ["done", "error", "cancelled", "not-delivered"];

/** Acquires of two activators with all their options, some repeated, and releases of earlier and unknown ones. */
function randomCalls(seed: number, count: number): Call[] {
  const random = createRandom(seed);
  const pick = (limit: number): number => Math.floor(random() * limit);
  return Array.from({ length: count }, (_, index): Call => {
    const leaseId = `r${pick(index + 1)}`;
    if (random() < 0.45) {
      const outcome = OUTCOMES[pick(OUTCOMES.length)] ?? "done";
      const rest = { outcome, status: 200, serviceMs: 1 };
      return (rig) => rig.store.releaseLease({ revision: REVISION, leaseId, ...rest });
    }
    // Now and then one that was sent before, as after a lost reply.
    const request = acquireRequest(random() < 0.1 ? leaseId : `r${index}`, {
      activatorId: random() < 0.9 ? "act-1" : "act-2",
      random: [random(), random()],
      mayWait: random() < 0.8,
      exclude: random() < 0.3 ? ["a", "c"] : [],
      arrivedAt: random() < 0.2 ? 1_600_000_000_000_000 + index : 0,
    });
    return (rig) => rig.store.acquireLease(request);
  });
}

describe("calls of one turn", () => {
  test.each([1, 2, 3, 4])("answer and leave behind what single calls do, seed %i", async (seed) => {
    const calls = randomCalls(seed, 120);
    const [alone, together] = [await startRig(), await startRig()];
    const expected: unknown[] = [];
    for (const call of calls) expected.push(await call(alone));
    const actual = await Promise.all(calls.map((call) => call(together)));
    expect(actual).toEqual(expected);
    const [one, other] = await Promise.all([alone, together].map(dumpOf));
    expect(other).toEqual(one);
  });

  test("cost far fewer calls, and a lone one costs one", async () => {
    const rig = await startRig();
    const before = await calls();
    await rig.acquire();
    expect((await calls()) - before).toBe(1);
    await Promise.all(Array.from({ length: 64 }, () => rig.acquire({ mayWait: false })));
    expect((await calls()) - before).toBe(5);
  });

  test("note their holder as alive", async () => {
    const rig = await startRig();
    await Promise.all([rig.acquire(), rig.acquire()]);
    const { activators } = await dumpRouting(server.admin, rig.prefix, REVISION);
    expect([...activators.keys()]).toEqual([acquireRequest("").activatorId]);
  });

  test("end with `unknown-revision` each when nobody has configured it", async () => {
    const rig = new StoreRig(server);
    rigs.push(rig);
    await rig.handle.ready();
    const results = await Promise.all([rig.acquire(), rig.acquire(), rig.release("r1")]);
    const unknown = { kind: "unknown-revision" };
    expect(results).toEqual([unknown, unknown, undefined]);
  });
});

async function calls(): Promise<number> {
  const stats = await server.admin.info("commandstats");
  return Number(/cmdstat_fcall:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}
