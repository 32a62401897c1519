/** A long answer from another cell while the store of the cell of entry is lost. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call } from "../../support/activator-bench.ts";
import { CellRig } from "../../support/cell-rig.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

/** The proof says a minute: `PILOTLIGHT_STREAM_S=60`. Losing the store in the middle is what counts. */
const STREAM_MS = Number(process.env["PILOTLIGHT_STREAM_S"] ?? "6") * 1_000;
/** As the stub sends them. */
const EVENT_EVERY_MS = 5;

const servers = new Map<string, ValkeyServer>();
let rig: CellRig;
beforeAll(async () => {
  for (const cell of ["eu", "us"]) servers.set(cell, await startValkey());
  const [first] = servers.values();
  if (first === undefined) throw new Error("no store");
  rig = new CellRig(first, {
    names: ["eu", "us"],
    urlOf: (cell) => servers.get(cell)?.url ?? "",
    config: { timeoutMs: STREAM_MS * 10 },
  });
  await rig.start();
});
afterAll(async () => {
  await rig.close();
  for (const server of servers.values()) await server.stop();
});

it(
  "misses not a byte",
  async () => {
    const pod = await rig.pod("us");
    await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
    const events = STREAM_MS / EVENT_EVERY_MS;
    const streaming = call(rig.url("eu"), `/sse?n=${events}`);
    await eventually(() => pod.running === 1);
    const lost = servers.get("eu");
    if (lost === undefined) throw new Error("no store of eu");
    await lost.admin.flushall();
    await lost.stop();
    const reply = await streaming;
    expect(reply.status).toBe(200);
    expect(reply.headers["server-timing"]).toContain('cell;desc="us"');
    const whole = Array.from({ length: events }, (_, index) => `data: ${index + 1}\n\n`).join("");
    expect(reply.body).toBe(whole);
    expect(pod.hits).toBe(1);
  },
  STREAM_MS * 10 + 60_000,
);
