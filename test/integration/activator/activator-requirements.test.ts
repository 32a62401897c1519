/** Requirements on activators together, by their numbers. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, REVISION, call, podOf } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const POLICIES = [
  "round-robin",
  "min-connections",
  "speed-aware",
  "random-choice-2",
  "first-available",
] as const;

let valkey: ValkeyServer;
let bench: ActivatorBench;
let one: BenchActivator;
let two: BenchActivator;

beforeEach(async () => {
  valkey = await startValkey();
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
  [one, two] = [await bench.activator(), await bench.activator()];
});
afterEach(async () => {
  await bench.close();
  await valkey.stop();
});

describe("R4", () => {
  /** Of several rounds the quickest counts: a machine with other work is late by itself. */
  const ROUNDS = 5;

  const stateOf = async (uid: string): Promise<string> =>
    (await bench.store.readTargets(REVISION)).find((target) => target.uid === uid)?.state ?? "gone";

  const msUntil = async (condition: () => Promise<boolean>): Promise<number> => {
    const startedAt = performance.now();
    await eventually(condition, { everyMs: 2, timeoutMs: 10_000 });
    return performance.now() - startedAt;
  };

  it("with a list of pods that is a minute old: ready in 100 ms, dead in 1 s, and no call fails", async () => {
    const staying = await bench.pod();
    await staying.register(two.push);
    const late = { uid: staying.uid, podName: "staying", draining: false, card: "" };
    const readyMs: number[] = [];
    const deadMs: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const pod = await bench.pod();
      const told = pod.register(one.push);
      readyMs.push(await msUntil(async () => (await stateOf(pod.uid)) === "ready"));
      await told;
      // What the autoscaler makes of a list from before the pod came.
      await bench.store.comparePods(REVISION, [late]);
      expect(await stateOf(pod.uid)).toBe("ready");
      pod.vanish();
      await pod.unlisten();
      deadMs.push(await msUntil(async () => (await stateOf(pod.uid)) === "gone"));
      // And of one in which it still stands.
      await bench.store.comparePods(REVISION, [late, { ...late, uid: pod.uid, podName: "dead" }]);
      expect(await stateOf(pod.uid)).not.toBe("ready");
      const reply = await call(one.dataUrl, "/", { method: "POST", body: "x" });
      expect([reply.status, podOf(reply)]).toEqual([200, staying.uid]);
    }
    expect(Math.min(...readyMs)).toBeLessThan(100);
    expect(Math.min(...deadMs)).toBeLessThan(1_000);
  }, 60_000);
});

describe("R8", () => {
  it("requests to one activator use the pods of both, the second one at once", async () => {
    const [first, second] = [await bench.pod(), await bench.pod()];
    await first.register(one.push);
    await second.register(two.push);
    const running = [call(one.dataUrl, "/?ms=2000"), call(one.dataUrl, "/?ms=2000")];
    // Together, though each pod takes one at a time: neither waited for the other's end.
    await eventually(() => first.running === 1 && second.running === 1, { timeoutMs: 1_500 });
    const replies = await Promise.all(running);
    expect(new Set(replies.map(podOf))).toEqual(new Set([first.uid, second.uid]));
  });
});

describe("R7", () => {
  it("an address that another service has now: the right pod answers, the other sees nothing", async () => {
    const [gone, right] = [await bench.pod(), await bench.pod()];
    await right.register(two.push);
    await gone.register(one.push);
    // Whoever listens there now is not the pod that is asked for.
    gone.manner = "wrong_target";
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => call(one.dataUrl, "/", { method: "POST", body: "x" })),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(new Set(replies.map(podOf))).toEqual(new Set([right.uid]));
    expect(gone.arrivals).toBeGreaterThan(0);
    expect(gone.hits).toBe(0);
  });
});

describe("R15", () => {
  it("100 long requests to one of two activators run at once on 100 pods", async () => {
    const pods = await Promise.all(Array.from({ length: 100 }, () => bench.pod()));
    await Promise.all(pods.map((pod, index) => pod.register((index % 2 === 0 ? one : two).push)));
    for (const pod of pods) pod.manner = "hang";
    const leaving = new AbortController();
    const running = pods.map(() =>
      call(one.dataUrl, "/", { signal: leaving.signal }).catch(() => "left"),
    );
    await eventually(() => pods.every((pod) => pod.running === 1), { timeoutMs: 10_000 });
    expect(Math.max(...pods.map((pod) => pod.mostRunning))).toBe(1);
    leaving.abort();
    expect(new Set(await Promise.all(running))).toEqual(new Set(["left"]));
    await eventually(async () => (await bench.busy()) === 0);
  });
});

describe("R12", () => {
  it("the policy changes again and again under load, and no request fails", async () => {
    const pods = await Promise.all(Array.from({ length: 4 }, () => bench.pod()));
    await Promise.all(pods.map((pod, index) => pod.register((index % 2 === 0 ? one : two).push)));
    const statuses = new Map<number, number>();
    let isOn = true;
    const callers = Array.from({ length: 6 }, async (_, index) => {
      while (isOn) {
        const { status } = await call((index % 2 === 0 ? one : two).dataUrl, "/?ms=5");
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    for (let round = 0; round < 4; round += 1) {
      for (const policy of POLICIES) {
        const before = statuses.get(200) ?? 0;
        await bench.configure({ policy });
        await eventually(() => (statuses.get(200) ?? 0) > before + 10);
      }
    }
    isOn = false;
    await Promise.all(callers);
    expect([...statuses.keys()]).toEqual([200]);
    expect(Math.max(...pods.map((pod) => pod.mostRunning))).toBe(1);
    await eventually(async () => (await bench.busy()) === 0 && (await bench.waiting()) === 0);
  });
});
