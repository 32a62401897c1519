/**
 * First requests to services at zero: how long they take, how long after the container listened and
 * the sidecar ran the request was there, and how many pods were started for one request.
 */
import { waitFor } from "../../../scripts/cluster/waiting.ts";
import { call, numberIn } from "../rig/client.ts";
import { median, quantile } from "../rig/load.ts";
import { sidecarStartedAt } from "../rig/processes.ts";
import { deploy, podsOf, remove } from "../rig/services.ts";
import { CLASS } from "../rig/system.ts";
import type { System } from "../rig/system.ts";
import type { Experiment, ExperimentOptions, Outcome } from "./measure.ts";

/** Long enough for an autoscaler to ask for the pods that it thinks one request needs. */
const WATCH_PODS_MS = 5_000;
/** What the first request works, so that it still runs while pods are counted. */
const WORK_MS = 50;

interface Sample {
  readonly totalMs: number;
  readonly readyToDispatchMs: number;
  readonly pods: number;
}

export const coldStart: Experiment = {
  name: "cold start",
  async run(system: System, { coldStarts }: ExperimentOptions): Promise<Outcome> {
    const samples: Sample[] = [];
    for (let round = 0; round < coldStarts; round += 1) {
      samples.push(await oneColdStart(system, `cold-${round}`));
    }
    const totals = samples.map(({ totalMs }) => totalMs);
    const ready = samples.map(({ readyToDispatchMs }) => readyToDispatchMs);
    return {
      figures: {
        p50Ms: median(totals),
        p95Ms: quantile(totals, 0.95),
        readyToDispatchMs: median(ready),
        pods: median(samples.map(({ pods }) => pods)),
        samples: samples.length,
      },
      notes: [
        `${system}, first request: ${totals.map((ms) => (ms / 1000).toFixed(2)).join(", ")} s`,
        `${system}, ready to dispatch: ${ready.map((ms) => ms.toFixed(0)).join(", ")} ms`,
        `${system}, pods for one request: ${samples.map(({ pods }) => pods).join(", ")}`,
      ],
    };
  },
};

async function oneColdStart(system: System, name: string): Promise<Sample> {
  await deploy({
    name,
    concurrency: 1,
    annotations: { class: CLASS[system], "initial-scale": "0", "max-scale": "4", window: "10s" },
  });
  try {
    await waitFor(`${name} without pods`, async () => (await podsOf(name)).length === 0);
    const answer = await call({ service: name, path: `/?ms=${WORK_MS}` });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body} ${answer.error}`);
    const pod = String(answer.headers["x-pod"]);
    const sidecarAt = sidecarStartedAt(pod);
    if (sidecarAt === undefined) throw new Error(`The queue-proxy of ${pod} was not found`);
    const readyAt = Math.max(numberIn(answer, "x-listening-at"), sidecarAt);
    return {
      totalMs: answer.ms - WORK_MS,
      readyToDispatchMs: numberIn(answer, "x-received-at") - readyAt,
      pods: await mostPods(name),
    };
  } finally {
    await remove(name);
  }
}

async function mostPods(name: string): Promise<number> {
  const seen = new Set<string>();
  const deadline = performance.now() + WATCH_PODS_MS;
  while (performance.now() < deadline) {
    for (const { metadata } of await podsOf(name)) seen.add(metadata.name);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return seen.size;
}
