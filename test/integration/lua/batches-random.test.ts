/**
 * What one call does for many requests is what single calls do one by one: random batches under every
 * policy, with a twin that gets the same steps alone. Batches read the index ahead and write records
 * once, so this is where a stale read would show.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { LOAD_BALANCING_POLICIES } from "../../../common/contracts/routing.ts";
import type { Binding } from "../../../common/contracts/routing.ts";
import { createRandom } from "../../../common/random.ts";
import { dumpRouting } from "../../support/routing-dump.ts";
import type { RoutingDump } from "../../support/routing-dump.ts";
import { findFaults } from "../../support/routing-invariants.ts";
import { REVISION, acquireRequest } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const ROUNDS = 25;

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

const ROWS = LOAD_BALANCING_POLICIES.flatMap((policy) =>
  (["late", "early"] satisfies Binding[]).map((binding) => ({ policy, binding })),
);

test.each(ROWS)("$policy, $binding binding", async ({ policy, binding }) => {
  const random = createRandom(7);
  const rigs = [new StoreRig(server), new StoreRig(server)] as const;
  for (const rig of rigs) {
    await rig.start({ policy, binding, localQueue: 2, queueDepth: 20 });
    for (const [pod, capacity] of [1, 3, 2, 4, 1, 2].entries())
      await rig.report(`p${pod}`, { capacity });
  }
  const [batched, single] = rigs;
  const open: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const rig of rigs) rig.passMs(10);
    const steps = Array.from({ length: 1 + Math.floor(random() * 16) }, (_, step) => {
      const leaseId = open.splice(Math.floor(random() * open.length), 1)[0];
      if (leaseId !== undefined && random() < 0.5) {
        return (rig: StoreRig): Promise<unknown> => rig.release(leaseId);
      }
      if (leaseId !== undefined) open.push(leaseId);
      // Now and then one that holds a lease or waits already, as after a lost reply.
      const known = random() < 0.1 ? open[Math.floor(random() * open.length)] : undefined;
      const id = known ?? `r${round}-${step}`;
      if (known === undefined) open.push(id);
      const request = acquireRequest(id, {
        random: [random(), random()],
        exclude: random() < 0.15 ? ["p1", "p3"] : [],
        ...(random() < 0.2 ? { call: { priority: Math.floor(random() * 3) } } : {}),
      });
      return (rig: StoreRig): Promise<unknown> => rig.store.acquireLease(request);
    });
    const together = await Promise.all(steps.map((step) => step(batched)));
    const alone: unknown[] = [];
    for (const step of steps) alone.push(await step(single));
    expect(together).toEqual(alone);
    const [dump, twin] = [await read(batched), await read(single)];
    expect(findFaults(dump)).toEqual([]);
    expect([dump.index, dump.queue, holdings(dump)]).toEqual([
      twin.index,
      twin.queue,
      holdings(twin),
    ]);
  }
  for (const rig of rigs) await rig.close();
});

const read = (rig: StoreRig): ReturnType<typeof dumpRouting> =>
  dumpRouting(server.admin, rig.prefix, REVISION);

/** Who holds or waits. A queue that ran empty within a batch is plain again only behind it. */
function holdings({ requests }: RoutingDump): ReadonlyMap<string, string> {
  return new Map(
    [...requests].map(([id, request]) => [id, request.kind === "lease" ? request.uid : "waits"]),
  );
}
