/** What is left of decisions and pods for others: events in their documented shape, and a log that survives. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SCALING_EVENTS } from "../../../common/contracts/events.ts";
import type { PlatformEvent } from "../../../foundation/events.ts";
import { ScalingRig } from "../../support/autoscaler-rig.ts";
import { fullKeys } from "../../support/autoscaler-decisions.ts";
import { SERVICE_KEY, scaledRevision } from "../../support/autoscaler-world.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
let rig: ScalingRig;
let events: PlatformEvent[];

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(() => rig.stop());

async function rigWith(short: Record<string, string>): Promise<void> {
  events = [];
  rig = new ScalingRig(server, { onEvent: (event) => events.push(event) });
  rig.world.apply(scaledRevision({ annotations: fullKeys(short) }));
  await rig.start();
}

const types = (): string[] => events.map(({ type }) => type.replace("dev.pilotlight.", ""));

/** Serves two requests from zero and goes back there. */
async function thereAndBack(): Promise<void> {
  await rig.call(2);
  await rig.pass(2);
  await rig.podsReady();
  await rig.pass(2);
  await rig.hangUp();
  await rig.pass(20);
  expect(rig.replicas).toBe(0);
}

describe("events", () => {
  test("tell the life of a revision from zero and back, each in its documented shape", async () => {
    await rigWith({ window: "6s", cooldown: "4s", "initial-scale": "0" });
    await thereAndBack();
    const expected = [
      "scale.changed",
      "pod.started",
      "pod.started",
      "pod.ready",
      "pod.ready",
      // The mean over the window falls: first one pod, then none.
      "scale.changed",
      "scale.changed",
      "scale.zero",
    ];
    expect(types()).toEqual(expected);
    expect(events[0]).toMatchObject({ subject: SERVICE_KEY, data: { from: 0, to: 2 } });
    for (const { type, data } of events) expectShape(type, data);
  });

  test("name what is quarantined and evicted, once each", async () => {
    await rigWith({ "min-scale": "2", "initial-scale": "2", "quarantine-max": "5s" });
    await rig.podsReady();
    await rig.pass(2);
    const uid = rig.world.podsOf()[0]?.uid ?? "";
    await rig.handle.store.reportEvidence(SERVICE_KEY, uid, "", "connect-failed");
    await rig.pass(20, () => rig.handle.store.reportProbe(SERVICE_KEY, uid, false));
    const about = events.filter(({ type }) => type.includes("target"));
    expect(about.map(({ type, data }) => [type, data["pod"]])).toEqual([
      ["dev.pilotlight.target.quarantined", uid],
      ["dev.pilotlight.target.evicted", uid],
    ]);
    for (const { type, data } of about) expectShape(type, data);
  });

  test("are not sent again by an autoscaler that starts and finds what is there", async () => {
    await rigWith({ "min-scale": "1", "initial-scale": "1" });
    await rig.podsReady();
    await rig.pass(4);
    events.length = 0;
    await rig.restart();
    await rig.pass(4);
    expect(events).toEqual([]);
  });
});

describe("decisions", () => {
  test("of an earlier leader are there after a restart, and changes are never lost to ticks", async () => {
    await rigWith({ window: "6s", cooldown: "4s", "initial-scale": "0" });
    await thereAndBack();
    await rig.pass(60);
    const changes = (): unknown[] =>
      rig.autoscaler
        .decisions(SERVICE_KEY)
        .filter(({ from, to }) => from !== to)
        .map(({ from, to, at, reason }) => ({ from, to, at, reason }));
    const before = changes();
    expect(before).toHaveLength(3);
    await rig.restart();
    expect(changes()).toEqual(before);
    // Idle ticks are one entry in the store as well.
    expect((await rig.handle.store.readDecisions(SERVICE_KEY)).length).toBeLessThan(12);
  });

  test("go with their revision", async () => {
    await rigWith({ "initial-scale": "0" });
    await rig.call(1);
    await rig.pass(1);
    expect(await rig.handle.store.readDecisions(SERVICE_KEY)).not.toEqual([]);
    rig.world.remove(SERVICE_KEY);
    await rig.settle();
    expect(await rig.handle.store.readDecisions(SERVICE_KEY)).toEqual([]);
  });
});

function expectShape(type: string, data: Readonly<Record<string, unknown>>): void {
  const shape: Readonly<Record<string, { data: object }>> = SCALING_EVENTS;
  const actual = Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, typeof value]),
  );
  expect(actual, type).toEqual(shape[type]?.data);
}
