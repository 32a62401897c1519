/**
 * The usual acquire, alone in its call and by the server's own clock: it takes a way of its own
 * through the script, which sequences in virtual time never take. Checked step by step like those.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createStore } from "../../../store/store.ts";
import { playSteps } from "../../support/routing-player.ts";
import { randomSteps } from "../../support/routing-steps.ts";
import type { Step } from "../../support/routing-steps.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
const STEPS = 400;

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

const TIMELESS: ReadonlySet<Step["do"]> = new Set<Step["do"]>([
  "beat",
  "renew",
  "leave",
  "reassert",
  "drain",
  "remove",
]);

/** Plain requests over pods of one slot or two, most of them ready; nothing that needs time. */
function plainSteps(seed: number): readonly Step[] {
  return randomSteps(seed, STEPS).flatMap(plainOnes);
}

function plainOnes(step: Step, index: number): readonly Step[] {
  if (step.do === "acquire") {
    const { lease, activator, random } = step;
    return [{ do: "acquire", lease, activator, random, exclude: [], mayWait: true }];
  }
  if (step.do === "report") {
    const state = index % 5 === 0 ? step.state : "ready";
    return [{ ...step, state, order: "next", capacity: 1 + (index % 2), occupied: 0 }];
  }
  if (step.do === "release") return [step];
  // So that a slot is free more often than not.
  if (step.do === "cancel") return [step, { do: "release", lease: step.lease, outcome: "done" }];
  if (step.do === "configure")
    return index % 2 === 0 ? [{ do: "configure", policy: step.policy }] : [];
  return TIMELESS.has(step.do) && index % 3 > 0 ? [step] : [];
}

test.each(SEEDS)("seed %i keeps all invariants", { timeout: 60_000 }, async (seed) => {
  const prefix = server.freshPrefix();
  const handle = createStore({ url: server.url, prefix });
  const stage = { store: handle.store, admin: server.admin, prefix, nowUs: 0 };
  try {
    await handle.ready();
    expect(await playSteps(stage, plainSteps(seed))).toBeNull();
  } finally {
    await handle.close();
  }
});
