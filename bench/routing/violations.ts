/**
 * A million choices by four clients at once on a revision that is always nearly full: no target
 * ever has more leases than its capacity, as the clients see it and as the store counts.
 */
import { LOAD_BALANCING_POLICIES } from "../../common/contracts/routing.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { createRandom } from "../../common/random.ts";
import type { StoreHandle } from "../../store/store.ts";
import { acquireRequest } from "../../test/support/routing.ts";
import { configure, openStore, reportFleet } from "./bench.ts";
import type { RoutingBench } from "./bench.ts";

const REVISION: RevisionKey = "bench/tight";
const TARGETS = 40;
const CAPACITY = 2;
const CLIENTS = 4;
/** Of each client: 96 requests on 80 slots. */
const IN_FLIGHT = 24;

interface Count {
  choices: number;
  violations: number;
  /** Leases that the clients hold, by target: never more than those that the store has granted. */
  readonly held: Map<string, number>;
}

export async function countViolations(bench: RoutingBench): Promise<void> {
  const wanted = bench.quick ? 20_000 : 1_000_000;
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    openStore(bench.server, `c${index}`),
  );
  await Promise.all(clients.map((client) => client.ready()));
  await configure(bench, REVISION);
  await reportFleet(bench.store, { revision: REVISION, targets: TARGETS, capacity: CAPACITY });
  const count: Count = { choices: 0, violations: 0, held: new Map() };
  for (const [index, policy] of LOAD_BALANCING_POLICIES.entries()) {
    await configure(bench, REVISION, policy);
    const until = (wanted * (index + 1)) / LOAD_BALANCING_POLICIES.length;
    await Promise.all([
      ...clients.map((client, number) => chooseUntil(client, number, until, count)),
      compareWithStore(bench, until, count),
    ]);
  }
  await Promise.all(clients.map((client) => client.close()));
  bench.report.row({
    id: "routing.capacity.violations",
    value: count.violations,
    unit: "count",
    n: count.choices,
    must: "0",
    goal: "0",
  });
}

async function chooseUntil(
  { store }: StoreHandle,
  client: number,
  until: number,
  count: Count,
): Promise<void> {
  const random = createRandom(client + 1);
  let requests = 0;
  const caller = async (): Promise<void> => {
    while (count.choices < until) {
      const leaseId = `${client}-${until}-${(requests += 1)}`;
      const result = await store.acquireLease(
        acquireRequest(leaseId, {
          revision: REVISION,
          activatorId: `c${client}`,
          mayWait: false,
          random: [random(), random()],
        }),
      );
      if (result.kind !== "leased") continue;
      take(result.lease.targetUid, count);
      await new Promise((resolve) => setImmediate(resolve));
      count.held.set(result.lease.targetUid, (count.held.get(result.lease.targetUid) ?? 0) - 1);
      const rest = { outcome: "done", status: 200, serviceMs: 1 } as const;
      await store.releaseLease({ revision: REVISION, leaseId, ...rest });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
}

function take(uid: string, count: Count): void {
  const held = (count.held.get(uid) ?? 0) + 1;
  count.held.set(uid, held);
  count.choices += 1;
  if (held > CAPACITY) count.violations += 1;
}

/** The store's own counts, again and again while the clients choose. */
async function compareWithStore(bench: RoutingBench, until: number, count: Count): Promise<void> {
  while (count.choices < until) {
    const targets = await bench.store.store.readTargets(REVISION);
    count.violations += targets.filter(({ inFlight }) => inFlight > CAPACITY).length;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
