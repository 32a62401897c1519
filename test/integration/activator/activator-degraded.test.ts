/** No store at all: each activator serves the pods that push to it, and no pod runs too much. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createStore } from "../../../store/store.ts";
import {
  ActivatorBench,
  REVISION,
  call,
  podOf,
  revisionConfig,
} from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { nextLayout } from "../../support/library-versions.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let one: BenchActivator;
let two: BenchActivator;
let ofOne: StubPod;
let ofTwo: StubPod;

beforeEach(async () => {
  valkey = await startValkey();
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
  [one, two] = [await bench.activator(), await bench.activator()];
  [ofOne, ofTwo] = [await bench.pod(), await bench.pod()];
  await ofOne.register(one.push);
  await ofTwo.register(two.push);
});
afterEach(async () => {
  await bench.close();
  await valkey.stop();
});

async function isDegraded({ push }: BenchActivator): Promise<boolean> {
  const ready = (await (await fetch(`http://${push}/readyz`)).json()) as { degraded: boolean };
  return ready.degraded;
}

async function loseStore(): Promise<void> {
  await valkey.stop();
  for (const activator of [one, two]) {
    await eventually(() => isDegraded(activator), { timeoutMs: 10_000 });
  }
}

describe("a store that stood still and goes on", () => {
  it("keeps no slot for what it was asked meanwhile", async () => {
    let answers = 0;
    let loaded = true;
    const load = async (to: BenchActivator): Promise<void> => {
      while (loaded) {
        expect((await call(to.dataUrl, "/?ms=20")).status).toBe(200);
        answers += 1;
      }
    };
    const callers = [one, two, one, two, one, two].map((to) => load(to));
    onTestFinished(() => void (loaded = false));
    for (let round = 0; round < 3; round += 1) {
      await eventually(() => answers > 40);
      process.kill(valkey.pid, "SIGSTOP");
      for (const activator of [one, two]) {
        await eventually(() => isDegraded(activator), { timeoutMs: 10_000 });
      }
      answers = 0;
      await eventually(() => answers > 40);
      process.kill(valkey.pid, "SIGCONT");
      for (const activator of [one, two]) {
        await eventually(async () => !(await isDegraded(activator)), { timeoutMs: 5_000 });
      }
      answers = 0;
      // What had been sent to it runs now, behind its releases even: gone within two beats.
      await eventually(() => answers > 40, { timeoutMs: 2_500, what: "answers" });
    }
    loaded = false;
    await Promise.all(callers);
    await eventually(async () => (await bench.busy()) === 0 && (await bench.waiting()) === 0);
  });
});

describe("activators without a store", () => {
  it("serve their own pods, one request at a time, and share all again afterwards", async () => {
    const { port } = valkey;
    await loseStore();
    const page = await (await fetch(`http://${one.push}/metrics`)).text();
    expect(page).toContain("\npilotlight_degraded 1\n");

    const calls = (to: BenchActivator, count: number): Promise<Reply[]> =>
      Promise.all(Array.from({ length: count }, () => call(to.dataUrl, "/?ms=20")));
    const [first, second] = await Promise.all([calls(one, 6), calls(two, 6)]);
    expect(new Set(first.map(podOf))).toEqual(new Set([ofOne.uid]));
    expect(new Set(second.map(podOf))).toEqual(new Set([ofTwo.uid]));

    const over = call(one.dataUrl, "/?ms=4000");
    await eventually(() => ofOne.running === 1);
    valkey = await startValkey({ port });
    for (const activator of [one, two]) {
      await eventually(async () => !(await isDegraded(activator)), { timeoutMs: 10_000 });
    }
    // The request that began without a store is counted by it now.
    await eventually(async () => (await bench.busy()) === 1);
    expect(podOf(await call(one.dataUrl, "/"))).toBe(ofTwo.uid);
    expect((await over).status).toBe(200);
    await eventually(async () => (await bench.busy()) === 0);
    expect([ofOne.mostRunning, ofTwo.mostRunning]).toEqual([1, 1]);
    const targets = await bench.store.readTargets(REVISION);
    expect(targets.map(({ state, inFlight }) => `${state} ${inFlight}`)).toEqual([
      "ready 0",
      "ready 0",
    ]);
  });

  it("have pods spread over all of them, and back to those that serve the revision", async () => {
    const { port } = valkey;
    await bench.configure({ activators: 2 });
    await eventually(() => ofOne.replies.at(-1)?.activators === 2);
    await loseStore();
    await eventually(() => ofOne.replies.at(-1)?.activators === 0);
    valkey = await startValkey({ port });
    await eventually(() => ofOne.replies.at(-1)?.activators === 2, { timeoutMs: 10_000 });
  });

  it("serve their own pods when a newer version has laid the state out anew", async () => {
    const url = `redis://127.0.0.1:${valkey.port}`;
    const newer = createStore({ url, prefix: bench.prefix, library: nextLayout() });
    onTestFinished(() => newer.close());
    await newer.ready();
    await newer.store.configureRevision(revisionConfig());
    for (const [activator, pod] of [
      [one, ofOne],
      [two, ofTwo],
    ] as const) {
      await eventually(() => isDegraded(activator), { timeoutMs: 10_000 });
      expect(podOf(await call(activator.dataUrl, "/"))).toBe(pod.uid);
    }
    expect(await newer.store.readTargets(REVISION)).toEqual([]);
  });

  it("serve what waited when the store went away", async () => {
    const running = [call(one.dataUrl, "/?ms=500"), call(one.dataUrl, "/?ms=500")];
    await eventually(async () => (await bench.busy()) === 2);
    const waiting = call(one.dataUrl, "/");
    await eventually(async () => (await bench.waiting()) === 1);
    await loseStore();
    expect(podOf(await waiting)).toBe(ofOne.uid);
    for (const reply of await Promise.all(running)) expect(reply.status).toBe(200);
  });

  it("take a new pod, and leave a dead one alone", async () => {
    await loseStore();
    await ofOne.unlisten();
    const asked = call(one.dataUrl, "/", { method: "POST", body: "x" });
    const fresh = await bench.pod();
    await fresh.register(one.push);
    expect(podOf(await asked)).toBe(fresh.uid);
    expect(ofOne.hits).toBe(0);
  });
});
