/** A store that goes away and forgets everything: requests wait, nothing is lost or done twice. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;

beforeEach(async () => {
  valkey = await startValkey();
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
});
afterEach(async () => {
  await bench.close();
  await valkey.stop();
});

async function restartEmpty(): Promise<void> {
  const { port } = valkey;
  await valkey.stop();
  valkey = await startValkey({ port });
}

describe("a store that was restarted empty", () => {
  it("learns of configuration, pods and leases again, and counts no slot twice", async () => {
    await bench.configure();
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    const running = call(activator.dataUrl, "/?ms=3000");
    await eventually(() => pod.running === 1);
    const waiting = call(activator.dataUrl, "/?ms=10");
    await eventually(async () => (await bench.waiting()) === 1);

    await restartEmpty();
    const late = call(activator.dataUrl, "/?ms=10");
    await eventually(async () => (await bench.busy()) === 1 && (await bench.waiting()) === 2, {
      timeoutMs: 5_000,
    });
    expect((await running).status).toBe(200);
    expect((await waiting).status).toBe(200);
    expect((await late).status).toBe(200);
    expect(pod.mostRunning).toBe(1);
    expect(pod.hits).toBe(3);
    await eventually(async () => (await bench.busy()) === 0);
    const [target] = await bench.store.readTargets(REVISION);
    expect(target).toMatchObject({ state: "ready", inFlight: 0 });
  });

  it("hears of a release that it missed", async () => {
    await bench.configure();
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    const running = call(activator.dataUrl, "/?ms=200");
    await eventually(() => pod.running === 1);
    const { port } = valkey;
    await valkey.stop();
    expect((await running).status).toBe(200);
    valkey = await startValkey({ port });
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
    await eventually(async () => (await bench.busy()) === 0);
  });
});

describe("a store that holds more than there is", () => {
  it("gets back a slot whose request is over, though its activator lives", async () => {
    const prefix = valkey.freshPrefix();
    await bench.close();
    bench = new ActivatorBench(valkey.url, prefix);
    await bench.configure();
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
    const [activatorId = ""] = await valkey.admin.zrange(
      `${prefix}{${REVISION}}:activators`,
      "0",
      "-1",
    );
    // As when the putting back of leases overtakes a release.
    await bench.store.reassertLeases(REVISION, activatorId, [
      { leaseId: "over", targetUid: pod.uid, address: pod.address, arrivedAt: 1, grantedAt: 1 },
    ]);
    expect(await bench.busy()).toBe(1);
    await eventually(async () => (await bench.busy()) === 0, { timeoutMs: 10_000 });
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
  });
});

describe("a store that stays away", () => {
  it("makes requests wait until their limit, then says so", async () => {
    await bench.configure({ queueTimeoutMs: 300 });
    const activator = await bench.activator();
    const pod = await bench.pod();
    await pod.register(activator.push);
    expect((await call(activator.dataUrl, "/")).status).toBe(200);
    const { port } = valkey;
    await valkey.stop();
    const reply = await call(activator.dataUrl, "/");
    expect(reply.status).toBe(503);
    expect(reply.headers["pilotlight-reason"]).toBe("store_unavailable");
    expect(reply.headers["retry-after"]).toBeDefined();
    valkey = await startValkey({ port });
    await eventually(async () => (await call(activator.dataUrl, "/")).status === 200);
    expect(pod.mostRunning).toBe(1);
  });
});
