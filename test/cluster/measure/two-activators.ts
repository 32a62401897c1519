/**
 * Six pods, six clients, work of exponential length, one request a pod, two activators: how often a
 * request waits although a pod is idle. With as many clients as pods there is always an idle one.
 */
import { call } from "../rig/client.ts";
import { quantile } from "../rig/load.ts";
import { deploy, remove, waitForReadyPods } from "../rig/services.ts";
import { watchIdle } from "../rig/store.ts";
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
      let added: readonly number[] = [];
      const load = async (): Promise<void> => {
        added = await sixClients(name, short ? 25_000 : 60_000);
      };
      const idle = system === "stock" ? undefined : await watchIdle(`default/${name}-00001`, load);
      if (idle === undefined) await load();
      return outcome(system, added, idle?.spansMs);
    } finally {
      await remove(name);
      if (system === "stock") await scaleActivators(system, 1);
    }
  },
};

/**
 * Stock's share is what the clients saw, the machine's own delays included; ours is what the store
 * saw, where those delays cannot stand in the way, and the clients' view stands beside it.
 */
function outcome(system: System, added: readonly number[], spansMs?: readonly number[]): Outcome {
  const late = (values: readonly number[]): number =>
    values.filter((ms) => ms > WAITED_MS).length / added.length;
  const p90Ms = quantile(added, 0.9);
  const p99Ms = quantile(added, 0.99);
  const waitedShare = late(spansMs ?? added);
  const seen = `${(late(added) * 100).toFixed(1)} % of ${added.length} requests later than ${WAITED_MS} ms`;
  const inStore =
    spansMs === undefined ? "" : `, ${(waitedShare * 100).toFixed(2)} % by the store's log`;
  return {
    figures: { waitedShare, clientShare: late(added), p90Ms, p99Ms, requests: added.length },
    notes: [
      `${system}, two activators: ${seen}${inStore}, p90 ${p90Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
    ],
  };
}

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
