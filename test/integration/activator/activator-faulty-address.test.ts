/** A request that the proxy core cannot even begin to send: a fault of ours, which stays with it. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { setTimeout as delay } from "node:timers/promises";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activator: BenchActivator;

beforeAll(async () => {
  valkey = await startValkey();
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
  activator = await bench.activator();
});
afterAll(async () => {
  await bench.close();
  await valkey.stop();
});

it("is answered, gives its slot back, and nobody looks after it any more", async () => {
  const unheard: unknown[] = [];
  const onUnheard = (error: unknown): void => void unheard.push(error);
  process.on("unhandledRejection", onUnheard);
  const now = Date.now();
  await bench.store.reportReadiness(
    {
      kind: "hello",
      revision: REVISION,
      podUid: "nowhere",
      podName: "nowhere",
      boot: now,
      sequence: 1,
      state: "ready",
      reason: "",
      address: "127.0.0.1",
      // No sidecar can report such a port.
      port: 99_999,
      capacity: 1,
      inFlight: 0,
      occupied: 0,
      reportsRunning: false,
      asked: [],
      running: [],
      build: "test",
      marks: { sidecarAt: now, listeningAt: now, readyAt: now },
    },
    { card: "", marks: { decidedAt: now, spawnedAt: now } },
  );
  const reply = await call(activator.dataUrl, "/", { method: "POST", body: "x" });
  expect([reply.status, reply.headers["pilotlight-reason"]]).toEqual([502, "upstream_reset"]);
  await delay(600);
  expect(await bench.busy()).toBe(0);
  process.off("unhandledRejection", onUnheard);
  expect(unheard).toEqual([]);
}, 20_000);
