/**
 * Six pods, six clients, work of exponential length, one request a pod, two activators: how often a
 * request waits although a pod is idle. With as many clients as pods there is always an idle one.
 */
import { call } from "../rig/client.ts";
import { quantile } from "../rig/load.ts";
import { deploy, remove, waitForReadyPods } from "../rig/services.ts";
import { CLASS, scaleActivators, waitForActivators } from "../rig/system.ts";
import type { System } from "../rig/system.ts";
import type { Experiment, ExperimentOptions, Outcome } from "./measure.ts";

const PODS = 6;
const MEAN_MS = 100;
const WAITED_MS = 20;

export const twoActivators: Experiment = {
  name: "two activators",
  async run(system: System, { short }: ExperimentOptions): Promise<Outcome> {
    const name = "shared";
    await scaleActivators(system, 2);
    await waitForActivators(system, 2);
    const scale = { "min-scale": String(PODS), "max-scale": String(PODS) };
    await deploy({
      name,
      concurrency: 1,
      annotations: { class: CLASS[system], "target-burst-capacity": "-1", ...scale },
    });
    await waitForReadyPods(name, PODS);
    try {
      const added = await sixClients(name, short ? 25_000 : 60_000);
      const waited = added.filter((ms) => ms > WAITED_MS).length;
      return {
        figures: {
          waitedShare: waited / added.length,
          p90Ms: quantile(added, 0.9),
          p99Ms: quantile(added, 0.99),
          requests: added.length,
        },
        notes: [
          `${system}, two activators: ${waited} of ${added.length} waited longer than ${WAITED_MS} ms, ` +
            `p90 ${quantile(added, 0.9).toFixed(1)} ms, p99 ${quantile(added, 0.99).toFixed(1)} ms`,
        ],
      };
    } finally {
      await remove(name);
      if (system === "stock") await scaleActivators(system, 1);
    }
  },
};

/** Each client sends its next request when the last is answered; returns what was added to the work. */
async function sixClients(service: string, lengthMs: number): Promise<readonly number[]> {
  const added: number[] = [];
  const deadline = performance.now() + lengthMs;
  const client = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const workMs = Math.round(-Math.log(1 - Math.random()) * MEAN_MS);
      const answer = await call({ service, path: `/?ms=${workMs}`, timeoutMs: 30_000 });
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body} ${answer.error}`);
      added.push(answer.ms - workMs);
    }
  };
  await Promise.all(Array.from({ length: PODS }, client));
  return added;
}
