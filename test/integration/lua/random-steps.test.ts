/**
 * Long random sequences of all operations, several activators, repeated calls and clock jumps,
 * each step checked against the model on a real server. Seeds are fixed. A failure is cut down to
 * a short sequence and printed; paste it into REGRESSIONS with a name.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createStore } from "../../../store/store.ts";
import { playSteps } from "../../support/routing-player.ts";
import { randomSteps } from "../../support/routing-steps.ts";
import type { Step } from "../../support/routing-steps.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
const STEPS = 300;
const START_US = 1_700_000_000_000_000;

/** Sequences that once failed, by what they showed. */
const REGRESSIONS: readonly { readonly name: string; readonly steps: readonly Step[] }[] = [
  {
    name: "a ticket dropped by a hand-over in the middle of reaping its activator is not reaped again",
    steps: [
      {
        do: "report",
        pod: 0,
        order: "next",
        state: "ready",
        capacity: 2,
        occupied: 1,
        confirms: true,
        stillRunning: false,
      },
      { do: "acquire", lease: 1, activator: 0, exclude: [], mayWait: true, random: [0, 0] },
      { do: "acquire", lease: 2, activator: 0, exclude: [], mayWait: true, random: [0, 0] },
      { do: "leave", activator: 0 },
    ],
  },
];

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

async function run(steps: readonly Step[]): Promise<string | null> {
  const stage = { nowUs: START_US };
  const prefix = server.freshPrefix();
  const handle = createStore({ url: server.url, prefix, testTime: () => stage.nowUs });
  try {
    await handle.ready();
    return await playSteps(
      Object.assign(stage, { store: handle.store, admin: server.admin, prefix }),
      steps,
    );
  } finally {
    await handle.close();
  }
}

/** Leaves out ever smaller parts while the rest still fails. */
async function shrink(steps: readonly Step[]): Promise<readonly Step[]> {
  let best = steps;
  for (
    let size = Math.ceil(best.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < best.length;) {
      const shorter = [...best.slice(0, from), ...best.slice(from + size)];
      if ((await run(shorter)) === null) from += size;
      else best = shorter;
    }
  }
  return best;
}

describe("random steps", () => {
  test.each(SEEDS)("seed %i keeps all invariants", { timeout: 120_000 }, async (seed) => {
    const steps = randomSteps(seed, STEPS);
    const fault = await run(steps);
    if (fault === null) return;
    const failed = Number(/^step (\d+)/.exec(fault)?.[1] ?? steps.length - 1);
    const short = await shrink(steps.slice(0, failed + 1));
    expect.fail(`${await run(short)}\nsteps: ${JSON.stringify(short)}`);
  });

  test.each(REGRESSIONS)("$name", async ({ steps }) => {
    expect(await run(steps)).toBeNull();
  });
});
