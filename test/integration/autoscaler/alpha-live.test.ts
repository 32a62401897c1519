/**
 * Alpha from end to end: calls through a real activator, their log read by the real controller, the
 * tuner in its thread, and the next choice of the scripts.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createAutoscaler } from "../../../autoscaler/controller.ts";
import type { Autoscaler } from "../../../autoscaler/controller.ts";
import { PLATFORM_DEFAULTS } from "../../../autoscaler/core/settings/defaults.ts";
import { tuneInThread } from "../../../autoscaler/tuner.ts";
import type { AlphaChoice } from "../../../common/hexgen/knowledge.ts";
import { createRandom } from "../../../common/random.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { ActivatorBench, REVISION, call, podOf } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { SERVICE_KEY, World, scaledRevision } from "../../support/autoscaler-world.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

/** What an earlier life of the controller left: nearly all weight on speed. */
const ONLY_SPEED = 0.95;
const LEFT: AlphaChoice = {
  alpha: ONLY_SPEED,
  version: 3,
  predictedTail: 1,
  window: 60,
  at: 1,
  previous: 0.3,
  reason: "time-passed",
};
const logger = createLogger({ name: "test", level: "silent" });

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activator: BenchActivator;
let autoscaler: Autoscaler;
let fast: StubPod;
let slow: StubPod;
let calls = 0;

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  const left = { cards: {}, charsPerToken: {}, pool: { A100: 1, A6000: 1 }, alpha: LEFT };
  await bench.handle.knowledge.writeKnowledge(REVISION, JSON.stringify(left));
  activator = await bench.activator();
  fast = await bench.pod({ capacity: 100, card: "A100" });
  slow = await bench.pod({ capacity: 100, card: "A6000" });
  autoscaler = createAutoscaler({
    store: bench.handle.store,
    subscriber: bench.handle.subscriber,
    ...portsWith([fast, slow]),
    clock: systemClock,
    random: createRandom(1),
    logger,
    defaults: PLATFORM_DEFAULTS,
    learning: { knowledge: bench.handle.knowledge, tune: tuneInThread },
  });
  await autoscaler.start();
  for (const pod of [fast, slow]) await pod.register(activator.push, "ready");
});
afterEach(async () => {
  await autoscaler.stop();
  await bench.close();
});

/** A platform that runs these two pods and is asked for no more. */
function portsWith(pods: readonly StubPod[]): Pick<World, "objects" | "scale" | "status"> {
  const world = new World();
  const annotations = {
    "pilotlight.dev/load-balancing": "speed-aware",
    "pilotlight.dev/slo": "60s",
    "autoscaling.knative.dev/min-scale": "2",
    "autoscaling.knative.dev/max-scale": "2",
  };
  world.apply(scaledRevision({ annotations, containerConcurrency: 100 }), pods.length);
  const known = world.podsOf();
  world.pods.set(
    SERVICE_KEY,
    pods.map(({ uid }, index) => ({
      ...(known[index] ?? raise()),
      uid,
      card: index === 0 ? "A100" : "A6000",
      phase: "ready" as const,
    })),
  );
  return world;
}

function raise(): never {
  throw new Error("the world has too few pods");
}

/** One question of one call; answers the pod that served it. */
async function ask(ms = 0): Promise<string> {
  calls += 1;
  const reply = await call(activator.dataUrl, `/v1/completions?ms=${ms}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-workflow-id": `q-${calls}`,
      "x-workflow-class": "text2sql",
      "x-workflow-stage": "candidate",
      "x-workflow-final": "true",
    },
    body: JSON.stringify({ model: "m", prompt: `${calls} ${"x".repeat(40_000)}`, max_tokens: 200 }),
  });
  expect(reply.status).toBe(200);
  return podOf(reply);
}

const burst = (count: number, ms: number): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: count }, () => ask(ms)));

/** Two calls at once on an idle pool: with all weight on speed both go to the fast card. */
async function pair(): Promise<readonly string[]> {
  const first = ask(300);
  await eventually(async () => (await bench.busy()) === 1);
  const pods = [await ask(), await first];
  await eventually(async () => (await bench.busy()) === 0);
  return pods;
}

const choice = (): AlphaChoice | null => autoscaler.learner?.alphaOf(REVISION) ?? null;

it("tunes alpha from the log, routes by it at once, and goes back when the tail got worse", async () => {
  const wasFast = [fast.uid, fast.uid];
  await eventually(async () => (await bench.store.readRevision(REVISION))?.alpha === ONLY_SPEED);
  // Forty long prompts at once: on the fast card alone they would stand in line.
  expect(new Set(await burst(40, 20))).toEqual(new Set([fast.uid]));
  const tuned = await eventually(() => choice()?.version === 4 && choice(), { timeoutMs: 20_000 });
  if (typeof tuned !== "object" || tuned === null) throw new Error("nothing was tuned");
  expect(tuned).toMatchObject({ previous: ONLY_SPEED, reason: "prediction-missed" });
  expect(tuned.alpha).toBeLessThan(0.7);
  expect(tuned.predictedTail).toBeGreaterThan(0);
  // What people and the next life of the controller see of it.
  const learnt = await eventually(async () => {
    const text = (await bench.handle.knowledge.readKnowledge(REVISION)) ?? "{}";
    const { alpha } = JSON.parse(text) as { readonly alpha: AlphaChoice };
    return alpha.version === 4 && alpha;
  });
  expect(learnt).toEqual(tuned);
  await eventually(() => autoscaler.view().revisions[0]?.alpha === tuned.alpha);
  await eventually(async () => (await bench.store.readRevision(REVISION))?.alpha === tuned.alpha);
  expect((await pair()).toSorted()).toEqual([fast.uid, slow.uid].toSorted());

  // The same load takes far longer than before the change.
  await burst(60, 900);
  const undone = await eventually(() => choice()?.version === 5 && choice(), { timeoutMs: 20_000 });
  expect(undone).toMatchObject({ alpha: ONLY_SPEED, previous: tuned.alpha, reason: "rolled-back" });
  await eventually(async () => (await bench.store.readRevision(REVISION))?.alpha === ONLY_SPEED);
  expect(await pair()).toEqual(wasFast);
}, 90_000);
