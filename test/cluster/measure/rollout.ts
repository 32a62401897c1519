/** A new revision under steady load: what goes wrong while traffic moves. */
import { pause } from "../../../scripts/cluster/waiting.ts";
import { applyText } from "../../../scripts/cluster/kubectl.ts";
import { reasons, sendLoad } from "../rig/load.ts";
import {
  deploy,
  remove,
  serviceManifest,
  waitForReady,
  waitForReadyPods,
} from "../rig/services.ts";
import type { ServiceOptions } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import type { System } from "../rig/system.ts";
import type { Experiment, ExperimentOptions, Outcome } from "./measure.ts";

export const rollout: Experiment = {
  name: "rollout",
  async run(system: System, { short }: ExperimentOptions): Promise<Outcome> {
    const service = (version: string): ServiceOptions => ({
      name: "rolled",
      concurrency: 4,
      env: { VERSION: version },
      annotations: {
        class: CLASS[system],
        "min-scale": "3",
        "max-scale": "6",
        "initial-scale": "3",
      },
    });
    await deploy(service("one"));
    await waitForReadyPods("rolled", 3);
    try {
      const answers = await sendLoad({
        target: { service: "rolled", path: "/?ms=50", timeoutMs: 60_000 },
        perSecond: 30,
        seconds: short ? 25 : 50,
        beside: async () => {
          await pause(3_000);
          await applyText(serviceManifest(service("two")));
          await waitForReady("rolled");
        },
      });
      const errors = answers.filter(({ answer }) => answer.status !== 200).length;
      const moved = answers.filter(({ answer }) => answer.headers["x-version"] === "two").length;
      if (moved === 0) throw new Error("No request reached the new revision");
      return {
        figures: { errors, sent: answers.length, moved },
        notes: [
          `${system}, rollout: ${errors} of ${answers.length} failed, ${moved} by the new revision; ${reasons(answers)}`,
        ],
      };
    } finally {
      await remove("rolled");
    }
  },
};
