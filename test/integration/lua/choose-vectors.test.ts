/** The written vectors of the load-balancing policies, L1 to L10, on the real scripts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseTarget } from "../../../activator/core/choose-target.ts";
import type { LoadBalancingPolicy } from "../../../common/contracts/routing.ts";
import { LOAD_BALANCING_POLICIES } from "../../../common/contracts/routing.ts";
import { createRandom } from "../../../common/random.ts";
import { REVISION, acquireRequest, revisionConfig } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

const UIDS = ["a", "b", "c", "d"];

interface Row {
  readonly name: string;
  readonly capacity: number;
  /** In flight before, in the order a, b, c, d. */
  readonly inFlight: readonly number[];
  readonly policy: LoadBalancingPolicy;
  readonly cursor?: string;
  readonly before?: (rig: StoreRig) => Promise<void>;
  readonly random?: readonly [number, number];
  readonly choices: string;
}

const ROWS: readonly Row[] = [
  {
    name: "L1 first-available fills one slot each",
    capacity: 1,
    inFlight: [0, 0, 0, 0],
    policy: "first-available",
    choices: "a b c d wait",
  },
  {
    name: "L2 first-available fills a target before the next",
    capacity: 2,
    inFlight: [0, 0, 0, 0],
    policy: "first-available",
    choices: "a a b b c c d d wait",
  },
  {
    name: "L3 round-robin starts at the first and wraps",
    capacity: 4,
    inFlight: [0, 0, 0, 0],
    policy: "round-robin",
    choices: "a b c d a b",
  },
  {
    name: "L4 round-robin leaves out the full one",
    capacity: 4,
    inFlight: [0, 4, 0, 0],
    policy: "round-robin",
    cursor: "a",
    choices: "c d a c d a",
  },
  {
    name: "L5 round-robin goes on behind a target that is gone",
    capacity: 4,
    inFlight: [0, 0, 0, 0],
    policy: "round-robin",
    cursor: "b",
    before: (rig) => rig.store.removeTarget(REVISION, "b", "test"),
    choices: "c d a c",
  },
  {
    name: "L6 min-connections, ties by age",
    capacity: 4,
    inFlight: [3, 1, 1, 2],
    policy: "min-connections",
    choices: "b c b c d a",
  },
  {
    name: "L8 random-choice-2 takes the one with fewer, without a limit",
    capacity: 0,
    inFlight: [5, 2, 9, 2],
    policy: "random-choice-2",
    // Pair (a, c): rank 0 of 4, then rank 1 of the other 3.
    random: [0, 0.4],
    choices: "a",
  },
  {
    name: "L9 a quarantined target is left out",
    capacity: 1,
    inFlight: [1, 0, 0, 0],
    policy: "first-available",
    before: (rig) => rig.store.reportEvidence(REVISION, "b", "", "connect-failed"),
    choices: "c d wait",
  },
];

async function arrange(row: Row): Promise<StoreRig> {
  const rig = await new StoreRig(server).start();
  for (const uid of UIDS) await rig.report(uid, { capacity: row.capacity });
  for (const [index, count] of row.inFlight.entries()) {
    const exclude = UIDS.filter((uid) => uid !== UIDS[index]);
    for (let lease = 0; lease < count; lease += 1) await rig.acquire({ exclude });
  }
  await rig.store.configureRevision(revisionConfig({ policy: row.policy }));
  if (row.cursor !== undefined) {
    const exclude = UIDS.filter((uid) => uid !== row.cursor);
    expect(await rig.choose({ exclude })).toBe(row.cursor);
    // The choice that set the cursor has ended again.
    await rig.release(`r${row.inFlight.reduce((sum, count) => sum + count, 0) + 1}`);
  }
  await row.before?.(rig);
  return rig;
}

describe("choice of a target", () => {
  test.each(ROWS)("$name", async (row) => {
    const rig = await arrange(row);
    const choices: string[] = [];
    for (const _ of row.choices.split(" ")) {
      choices.push(await rig.choose({ random: row.random ?? [0, 0] }));
    }
    expect(choices.join(" ")).toBe(row.choices);
    await rig.close();
  });

  test("L6 leaves 4, 3, 3, 3 in flight", async () => {
    const row = ROWS.find(({ name }) => name.startsWith("L6"));
    if (row === undefined) throw new Error("the row is gone");
    const rig = await arrange(row);
    for (let call = 0; call < 6; call += 1) await rig.choose();
    const targets = await rig.store.readTargets(REVISION);
    expect(targets.map(({ inFlight }) => inFlight)).toEqual([4, 3, 3, 3]);
    await rig.close();
  });

  test.each(LOAD_BALANCING_POLICIES)("L7 %s waits, and gets what is released", async (policy) => {
    const rig = await new StoreRig(server).start({ policy });
    const held = new Map<string, string>();
    for (const uid of UIDS) await rig.report(uid);
    for (const _ of UIDS) {
      const result = await rig.acquire();
      if (result.kind === "leased") held.set(result.lease.targetUid, result.lease.leaseId);
    }
    expect([...held.keys()].toSorted()).toEqual(UIDS);
    const waiting = acquireRequest("late");
    expect(await rig.store.acquireLease(waiting)).toMatchObject({ kind: "waiting" });
    await rig.release(held.get("c") ?? "");
    expect(await rig.store.acquireLease(waiting)).toMatchObject({
      kind: "leased",
      lease: { targetUid: "c" },
    });
    await rig.close();
  });

  test("random-choice-2 agrees with the definition for any two numbers and exclusions", async () => {
    const rig = await new StoreRig(server).start({ policy: "random-choice-2" });
    const uids = [...UIDS, "e", "f"];
    for (const uid of uids) await rig.report(uid, { capacity: 0 });
    const random = createRandom(5);
    for (let call = 0; call < 150; call += 1) {
      const request = {
        random: [random(), random()] as const,
        exclude: uids.filter(() => random() < 0.3),
      };
      const targets = await rig.store.readTargets(REVISION);
      const chosen = chooseTarget(
        targets.map((target) => Object.assign({ freeSlots: 1 }, target)),
        { policy: "random-choice-2", cursor: 0, ...request },
      );
      expect(await rig.choose({ ...request, mayWait: false })).toBe(chosen?.uid ?? "no-slot");
    }
    await rig.close();
  });

  test("L10 four calls at once through two activators never meet on a target", async () => {
    const one = await new StoreRig(server).start();
    const other = new StoreRig(server, { prefix: one.prefix, activatorId: "act-0" });
    await other.handle.ready();
    for (const policy of LOAD_BALANCING_POLICIES) {
      await one.store.configureRevision(revisionConfig({ policy }));
      if (policy === "first-available") for (const uid of UIDS) await one.report(uid);
      for (let round = 0; round < 200; round += 1) {
        const ids = UIDS.map((uid) => `${policy}-${round}-${uid}`);
        const results = await Promise.all(
          ids.map((leaseId, index) =>
            (index % 2 === 0 ? one : other).store.acquireLease(
              acquireRequest(leaseId, {
                activatorId: `act-${index % 2}`,
                random: [((round * 7) % 10) / 10, ((round * 3) % 10) / 10],
              }),
            ),
          ),
        );
        const uids = results.map((result) =>
          result.kind === "leased" ? result.lease.targetUid : result.kind,
        );
        expect(uids.toSorted()).toEqual(UIDS);
        await Promise.all(ids.map((leaseId) => one.release(leaseId)));
      }
    }
    await other.close();
    await one.close();
  });
});
