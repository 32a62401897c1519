/** Pods come and die under load: nobody whose request can be sent again hears of it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, REVISION, call } from "../../support/activator-bench.ts";
import type { BenchActivator, Reply } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const CALLERS = 12;
const DEATHS = 12;
/** Requests served between two deaths. */
const BETWEEN = 25;

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activators: BenchActivator[];

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
  activators = [await bench.activator(), await bench.activator()];
});
afterEach(() => bench.close());

async function newPod(index: number): Promise<StubPod> {
  const pod = await bench.pod();
  await pod.register(activators[index % 2]?.push ?? "");
  return pod;
}

describe("pods that die under load", () => {
  it("cost no caller an answer, and no pod ever runs two requests", async () => {
    const living = [await newPod(0), await newPod(1), await newPod(2), await newPod(3)];
    const all = [...living];
    const replies: Reply[] = [];
    let stopped = false;
    const callers = Array.from({ length: CALLERS }, async (_, index) => {
      while (!stopped) {
        replies.push(await call(activators[index % 2]?.dataUrl ?? "", "/?ms=5"));
      }
    });
    for (let death = 0; death < DEATHS; death += 1) {
      const served = replies.length;
      const victim = living.shift();
      victim?.vanish();
      await victim?.unlisten();
      const pod = await newPod(death);
      living.push(pod);
      all.push(pod);
      await eventually(() => replies.length >= served + BETWEEN, { timeoutMs: 10_000 });
    }
    stopped = true;
    await Promise.all(callers);
    const statuses = new Set(
      replies.map(
        ({ status, headers }) => `${status} ${String(headers["pilotlight-reason"] ?? "")}`,
      ),
    );
    expect([...statuses]).toEqual(["200 "]);
    expect(Math.max(...all.map((pod) => pod.mostRunning))).toBe(1);
    await eventually(async () => (await bench.busy()) + (await bench.waiting()) === 0);
    const ready = (await bench.store.readTargets(REVISION)).filter(
      ({ state }) => state === "ready",
    );
    expect(ready.map(({ uid }) => uid).toSorted()).toEqual(living.map(({ uid }) => uid).toSorted());
  });
});
