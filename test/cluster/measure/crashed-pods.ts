/** Ten pods under steady load while all processes of one are killed every six seconds. */
import { pause } from "../../../scripts/cluster/waiting.ts";
import { sendLoad, quantile, reasons } from "../rig/load.ts";
import type { Numbered } from "../rig/load.ts";
import { crash, deliveredTo } from "../rig/processes.ts";
import { deploy, isReady, podsOf, remove, waitForReadyPods } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import type { System } from "../rig/system.ts";
import type { Experiment, ExperimentOptions, Outcome } from "./measure.ts";

export const PODS = 10;
const EVERY_MS = 6_000;
export const LOAD = { perSecond: 50, path: "/?ms=50" } as const;

/** A service with a fixed number of pods and every request through an activator. */
export async function deployFixed(system: System, name: string): Promise<void> {
  const scale = { "min-scale": String(PODS), "max-scale": String(PODS) };
  await deploy(
    {
      name,
      concurrency: 4,
      annotations: { class: CLASS[system], "target-burst-capacity": "-1", ...scale },
      resources: { requests: { cpu: "5m", memory: "16Mi" } },
    },
    240_000,
  );
  await waitForReadyPods(name, PODS, 240_000);
}

/** Failures, split by whether the request had reached a container. */
export function countFailures(
  service: string,
  answers: readonly Numbered[],
): {
  readonly delivered: number;
  readonly undelivered: number;
} {
  const reached = deliveredTo(service);
  const failed = answers.filter(({ answer }) => answer.status !== 200);
  const delivered = failed.filter(({ number }) => reached.has(number)).length;
  return { delivered, undelivered: failed.length - delivered };
}

export const crashedPods: Experiment = {
  name: "crashed pods",
  async run(system: System, { short }: ExperimentOptions): Promise<Outcome> {
    const name = "crashed";
    await deployFixed(system, name);
    try {
      let crashes = 0;
      const answers = await sendLoad({
        target: { service: name, path: LOAD.path, timeoutMs: 60_000 },
        perSecond: LOAD.perSecond,
        seconds: short ? 31 : 57,
        beside: async (signal) => {
          for (;;) {
            await pause(EVERY_MS);
            if (signal.aborted) return;
            const ready = (await podsOf(name)).filter(isReady);
            const victim = ready[crashes % ready.length];
            if (victim === undefined || signal.aborted) continue;
            crash(victim);
            crashes += 1;
          }
        },
      });
      const { delivered, undelivered } = countFailures(name, answers);
      const times = answers.map(({ answer }) => answer.ms);
      return {
        figures: {
          failed: delivered + undelivered,
          undelivered,
          sent: answers.length,
          crashes,
          p99Ms: quantile(times, 0.99),
        },
        notes: [
          `${system}, ${crashes} pods crashed: ${delivered + undelivered} of ${answers.length} failed, ` +
            `${undelivered} of them undelivered; ${reasons(answers)}`,
        ],
      };
    } finally {
      await remove(name);
    }
  },
};
