/** A request that the proxy core cannot even begin to send: a fault of ours, which stays with it. */
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ActivatorBench, HOST, REVISION } from "../../support/activator-bench.ts";
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

function post(agent: Agent): Promise<[status: number, reason: string]> {
  return new Promise((resolve, reject) => {
    const headers = { host: HOST, "content-length": "1" };
    const sent = request(activator.dataUrl, { agent, method: "POST", headers }, (answer) => {
      answer.resume();
      const reason = String(answer.headers["pilotlight-reason"]);
      answer.on("end", () => resolve([answer.statusCode ?? 0, reason]));
    });
    sent.on("error", reject);
    sent.end("x");
  });
}

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
  // Its caller stays: the end of an attempt that never began must not be taken for news.
  const agent = new Agent({ keepAlive: true });
  expect(await post(agent)).toEqual([502, "upstream_reset"]);
  await delay(600);
  agent.destroy();
  expect(await bench.busy()).toBe(0);
  const page = await (await fetch(`http://${activator.push}/metrics`)).text();
  expect(page.split("\n").filter((line) => line.startsWith("pilotlight_run_errors{"))).toEqual([
    expect.stringMatching(/reason="upstream_reset".* 1$/),
  ]);
  process.off("unhandledRejection", onUnheard);
  expect(unheard).toEqual([]);
}, 20_000);
