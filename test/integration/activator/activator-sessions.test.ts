/** Sessions through real activators: one pod while it lasts, and an honest answer when it is gone. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { ActivatorBench, REVISION, call, podOf } from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activators: readonly BenchActivator[];
let pods: readonly StubPod[];

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(() => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
});
afterEach(() => bench.close());

async function start(sessionAffinity: "soft" | "strict"): Promise<void> {
  await bench.configure({ sessionAffinity });
  activators = [
    await bench.activator({ PILOTLIGHT_ACTIVATOR_ID: "one" }),
    await bench.activator({ PILOTLIGHT_ACTIVATOR_ID: "two" }),
  ];
  pods = [await bench.pod(), await bench.pod(), await bench.pod()];
  for (const pod of pods) await pod.register(activators[0]?.push ?? "", "ready");
}

function ask(activator: number, session: string, ms = 0): Promise<Reply> {
  const url = activators[activator]?.dataUrl ?? "";
  return call(url, `/?ms=${ms}`, { headers: { "pilotlight-session": session } });
}

const idle = (): Promise<unknown> => eventually(async () => (await bench.busy()) === 0);

/** A session at home on another pod than the one that is first in line, which is free again. */
async function homeBesideFirst(session: string): Promise<string> {
  const busy = ask(0, "another", 300);
  await eventually(async () => (await bench.busy()) === 1);
  const home = podOf(await ask(0, session));
  expect(home).not.toBe(podOf(await busy));
  await idle();
  return home;
}

it("leads requests of a session to its pod, through either activator", async () => {
  await start("soft");
  const home = await homeBesideFirst("s");
  for (const activator of [1, 0, 1, 0]) {
    expect(podOf(await ask(activator, "s"))).toBe(home);
    await idle();
  }
  // No session, or a malformed one: the policy alone.
  expect(podOf(await call(activators[1]?.dataUrl ?? "", "/"))).not.toBe(home);
  await idle();
  expect(podOf(await ask(1, "not one word"))).not.toBe(home);
});

it("does not let a soft session wait while another pod is free", async () => {
  await start("soft");
  const home = await homeBesideFirst("s");
  const [first, second] = [ask(0, "s", 400), undefined];
  await eventually(async () => (await bench.busy()) === 1);
  const startedAt = performance.now();
  expect(second ?? podOf(await ask(1, "s"))).not.toBe(home);
  expect(performance.now() - startedAt).toBeLessThan(350);
  expect(podOf(await first)).toBe(home);
});

it("lets a strict session wait for its pod, and says so when that is gone", async () => {
  await start("strict");
  const home = await homeBesideFirst("s");
  const replies = await Promise.all([ask(0, "s", 200), ask(1, "s", 100), ask(0, "s")]);
  expect(replies.map(podOf)).toEqual([home, home, home]);
  expect(pods.find(({ uid }) => uid === home)?.mostRunning).toBe(1);

  const running = ask(0, "s", 2_500);
  await eventually(async () => (await bench.busy()) === 1);
  const waiting = ask(1, "s");
  await eventually(async () => (await bench.waiting()) === 1);
  await bench.store.drainTarget(REVISION, home, "scale down");
  const lost = await waiting;
  expect([lost.status, lost.headers["pilotlight-reason"]]).toEqual([410, "session_lost"]);
  expect((await running).status).toBe(200);
  const again = await ask(1, "s");
  expect([again.status, again.headers["pilotlight-reason"]]).toEqual([410, "session_lost"]);
  expect((await ask(1, "new")).status).toBe(200);
});
