/**
 * A thousand requests at one moment, at three cells, for ten slots in one of them: none is given
 * twice, and nobody is asked for more than it offered and one per activator that may send there.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call } from "../../support/activator-bench.ts";
import { CellRig } from "../../support/cell-rig.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const CELLS = ["eu", "us", "ap"] as const;
const SLOTS = 10;
const REQUESTS = 1_000;
/** Eu and ap; us has the slots. */
const ENTRIES_ELSEWHERE = 2;
const PATIENCE_MS = 60_000;

let server: ValkeyServer;
let rig: CellRig;
beforeAll(async () => {
  server = await startValkey();
  rig = await new CellRig(server, {
    names: CELLS,
    config: {
      queueTimeoutMs: PATIENCE_MS,
      activationTimeoutMs: PATIENCE_MS,
      timeoutMs: PATIENCE_MS,
      queueDepth: 2 * REQUESTS,
    },
  }).start();
});
afterAll(async () => {
  await rig.close();
  await server.stop();
});

it("gives no slot twice, and asks nobody for more than it offered and one per entry", async () => {
  const pods = [];
  for (let count = 0; count < SLOTS; count += 1) pods.push(await rig.pod("us"));
  for (const cell of ["eu", "ap"]) {
    await rig.heard(cell, "us", ({ services }) => services[0]?.warm === SLOTS);
  }
  // The first ten stay in their pods, so that no slot comes back while we count.
  const held: string[] = [];
  for (const pod of pods) {
    pod.manner = "hang";
    pod.onRequest = (headers) => held.push(String(headers["x-request-id"]));
  }
  const calls = Array.from({ length: REQUESTS }, (_, index) => {
    const leaving = new AbortController();
    const id = `rush-${index}`;
    const cell = CELLS[index % CELLS.length] ?? "eu";
    const headers = { "x-request-id": id };
    const reply = call(rig.url(cell), "/", { headers, signal: leaving.signal }).then(
      ({ status }) => status,
      () => 0,
    );
    return { id, leaving, reply };
  });
  const waiting = async (): Promise<number> => {
    const each = await Promise.all(CELLS.map((cell) => rig.cell(cell).bench.waiting()));
    return each.reduce((sum, count) => sum + count, 0);
  };
  // Nobody has a pod but us, and nobody may start one: all others wait, most of them there.
  await eventually(async () => (await waiting()) === REQUESTS - SLOTS, {
    timeoutMs: PATIENCE_MS / 2,
    everyMs: 100,
    what: "all that found no slot wait",
  });
  expect(held).toHaveLength(SLOTS);
  expect(pods.map(({ running }) => running)).toEqual(pods.map(() => 1));
  expect(await rig.cell("us").bench.busy()).toBe(SLOTS);
  expect(await askedForWarm(held)).toBeLessThanOrEqual(SLOTS + ENTRIES_ELSEWHERE);

  for (const pod of pods) pod.manner = "serve";
  const isHeld = new Set(held.slice(0, SLOTS));
  for (const { id, leaving } of calls) if (isHeld.has(id)) leaving.abort();
  const statuses = await Promise.all(calls.map(({ reply }) => reply));
  expect(statuses.filter((status) => status === 200)).toHaveLength(REQUESTS - SLOTS);
  expect(pods.map(({ mostRunning }) => mostRunning)).toEqual(pods.map(() => 1));
  expect(pods.reduce((sum, { hits }) => sum + hits, 0)).toBe(REQUESTS);
}, 120_000);

/** Requests that were sent to us for a free slot: refused there, or held in a pod there now. */
async function askedForWarm(held: readonly string[]): Promise<number> {
  const views = await Promise.all(["eu", "ap"].map((cell) => rig.view(cell)));
  const refused = views
    .flatMap(({ spills }) => spills)
    .filter(({ spill, outcome }) => spill === "warm" && outcome === "refused")
    .reduce((sum, { count }) => sum + count, 0);
  // By their numbers: those of the second cell entered at us itself.
  const came = held.filter((id) => Number(id.slice("rush-".length)) % CELLS.length !== 1);
  return refused + came.length;
}
