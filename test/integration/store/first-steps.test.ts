/** The shortest way through the store: configure, push ready, acquire, wait, release, hand over. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Assignment } from "../../../common/contracts/channels.ts";
import { createStore } from "../../../store/store.ts";
import { eventually } from "../../support/eventually.ts";
import { REVISION, acquireRequest, pushReport, revisionConfig } from "../../support/routing.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

test("a freed slot goes to the request that waits, and its activator hears of it", async () => {
  const handle = createStore({
    url: server.url,
    prefix: server.freshPrefix(),
    activatorId: "act-1",
  });
  const { store, subscriber } = handle;
  const assignments: Assignment[] = [];
  subscriber.onAssignment((assignment) => assignments.push(assignment));
  await handle.ready();

  expect(await store.acquireLease(acquireRequest("r0"))).toEqual({ kind: "unknown-revision" });
  await store.configureRevision(revisionConfig());
  expect(await store.readRevision(REVISION)).toEqual(revisionConfig());
  const report = await store.reportReadiness(pushReport("a"), { card: "h100", marks: {} });
  expect(report).toMatchObject({ kind: "accepted", state: "ready", idle: true, targets: 1 });

  const first = await store.acquireLease(acquireRequest("r1"));
  expect(first).toMatchObject({
    kind: "leased",
    lease: { targetUid: "a", address: "127.0.0.9:8012" },
  });
  expect(await store.acquireLease(acquireRequest("r1"))).toEqual(first);
  const second = await store.acquireLease(acquireRequest("r2"));
  expect(second).toMatchObject({ kind: "waiting", readyTargets: 1, waiting: 1 });

  await store.releaseLease({
    revision: REVISION,
    leaseId: "r1",
    outcome: "done",
    status: 200,
    serviceMs: 3,
  });
  await eventually(() => assignments.length === 1);
  expect(assignments[0]).toMatchObject({ leaseId: "r2", targetUid: "a", revision: REVISION });
  expect(await store.askTicket(REVISION, "r2")).toMatchObject({ kind: "leased" });
  const figures = await store.readFigures(REVISION, { record: true });
  expect(figures).toMatchObject({ busy: 1, waiting: 0, arrivals: 2 });
  const [target] = await store.readTargets(REVISION);
  expect(target).toMatchObject({
    uid: "a",
    state: "ready",
    inFlight: 1,
    card: "h100",
    admission: 1,
  });
  await store.reportHeartbeats(REVISION, [{ podUid: "a", boot: 1, sequence: 2 }]);
  await store.reportEvidence(REVISION, "a", "r2", "connect-failed");
  expect(await store.renewActivator(REVISION, "act-1")).toMatchObject({ probes: [], more: false });
  await store.comparePods(REVISION, [{ uid: "b", podName: "p-b", draining: false, card: "" }]);
  expect(await store.listRevisions()).toEqual([REVISION]);
  await store.leaveRevision(REVISION, "act-1");
  await store.removeRevision(REVISION);
  expect(await store.readRevision(REVISION)).toBeNull();
  await handle.close();
});
