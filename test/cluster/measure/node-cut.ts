/** Ten pods on two nodes under steady load while one node is cut off for 25 seconds. */
import { plug } from "../../../scripts/cluster/network.ts";
import { pause } from "../../../scripts/cluster/waiting.ts";
import { kubectl } from "../../../scripts/cluster/kubectl.ts";
import { quantile, reasons, sendLoad } from "../rig/load.ts";
import { podsOf, remove } from "../rig/services.ts";
import { steadyNode } from "../rig/store.ts";
import { nodeNames, pinActivators } from "../rig/system.ts";
import type { System } from "../rig/system.ts";
import { LOAD, countFailures, deployFixed } from "./crashed-pods.ts";
import type { Experiment, Outcome } from "./measure.ts";

const BEFORE_MS = 3_000;
const CUT_MS = 25_000;
const AFTER_MS = 7_000;
const SLOW_MS = 1_000;

export const nodeCut: Experiment = {
  name: "node cut off",
  async run(system: System): Promise<Outcome> {
    const stays = system === "stock" ? nodeNames[0] : await steadyNode();
    const cut = nodeNames.find((node) => node !== stays);
    if (stays === undefined || cut === undefined) throw new Error("there are not two nodes");
    const name = "cut";
    await pinActivators(system, stays);
    await deployFixed(system, name);
    try {
      const there = (await podsOf(name)).filter(({ spec }) => spec.nodeName === cut).length;
      if (there === 0) throw new Error(`No pod is on ${cut}, so that cutting it off shows nothing`);
      const answers = await sendLoad({
        target: { service: name, path: LOAD.path, timeoutMs: 60_000 },
        perSecond: LOAD.perSecond,
        seconds: (BEFORE_MS + CUT_MS + AFTER_MS) / 1000,
        beside: async () => {
          await pause(BEFORE_MS);
          await plug(cut, false);
          await pause(CUT_MS);
          await plug(cut, true);
        },
      });
      await kubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=120s");
      const times = answers.map(({ answer }) => answer.ms);
      const { delivered, undelivered } = countFailures(name, answers);
      const slow = times.filter((ms) => ms > SLOW_MS).length;
      return {
        figures: {
          failed: delivered + undelivered,
          undelivered,
          slow,
          sent: answers.length,
          latestMs: quantile(times, 1),
        },
        notes: [
          `${system}, ${cut} with ${there} pods cut off: ${delivered + undelivered} of ${answers.length} failed, ` +
            `${undelivered} undelivered, ${slow} later than 1 s; ${reasons(answers)}`,
        ],
      };
    } finally {
      await plug(cut, true);
      await remove(name);
      await pinActivators(system, null);
    }
  },
};
