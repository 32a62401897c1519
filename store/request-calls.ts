/**
 * Calls of one request's life, and of the activator that holds it. A release is never lost: one
 * that the store could not take is kept and sent when the store is back, and so is the release of
 * a request whose acquire ended in an unknown way.
 */
import { Batcher } from "./batcher.ts";
import { leaveRevision, renewActivator } from "./bindings/activators.ts";
import { askTicket, cancelTicket, listHeld, reassertLeases } from "./bindings/requests.ts";
import { readRunId } from "./client.ts";
import type { StoreClient } from "./client.ts";
import { OwedReleases } from "./owed-releases.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type { Lease, RoutingStore } from "./types.ts";

type RequestCalls = Pick<
  RoutingStore,
  | "acquireLease"
  | "releaseLease"
  | "cancelTicket"
  | "askTicket"
  | "renewActivator"
  | "leaveRevision"
  | "listHeld"
  | "reassertLeases"
>;

/** Leases put back per script call. */
const REASSERT_BATCH = 64;

export function createRequestCalls(
  client: StoreClient,
  caller: ScriptCaller,
): { readonly calls: RequestCalls; close(): void } {
  const batcher = new Batcher(caller, (revision, step) => {
    // An acquire may have run all the same; nobody will use what it took.
    if ("acquire" in step) owed.add(revision, step.acquire.leaseId, "not-delivered");
    else owed.add(revision, step.release.leaseId, step.release.outcome);
  });
  const owed = new OwedReleases((revision, leaseId, outcome) =>
    batcher.release(revision, leaseId, outcome),
  );
  const serverRun = followServerRun(client);
  client.on("ready", () => owed.settle());

  const calls: RequestCalls = {
    acquireLease: (request) => batcher.acquire(request),
    releaseLease: ({ revision, leaseId, outcome }) => batcher.release(revision, leaseId, outcome),
    cancelTicket: (revision, leaseId) => caller.call(cancelTicket, revision, { leaseId }),
    askTicket: (revision, leaseId) => caller.call(askTicket, revision, { leaseId }),
    renewActivator: (revision, activatorId) =>
      caller.call(renewActivator, revision, { activatorId, runId: serverRun() }),
    listHeld: (revision, activatorId, cursor) =>
      caller.call(listHeld, revision, { activatorId, cursor }),
    leaveRevision: async (revision, activatorId) => {
      while (await caller.call(leaveRevision, revision, { activatorId }));
    },
    reassertLeases: async (revision, activatorId, leases) => {
      for (let from = 0; from < leases.length; from += REASSERT_BATCH) {
        const batch: readonly Lease[] = leases.slice(from, from + REASSERT_BATCH);
        await caller.call(reassertLeases, revision, { activatorId, leases: batch });
      }
    },
  };
  return { calls, close: () => owed.close() };
}

/** Run id of the connected server, empty until it is known. */
function followServerRun(client: StoreClient): () => string {
  let runId = "";
  const read = async (): Promise<void> => {
    runId = await readRunId(client);
  };
  // Unknown until the next connect is harmless: the gap in time is seen as well.
  client.on("ready", () => void read().catch(() => undefined));
  return () => runId;
}
