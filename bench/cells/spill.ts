/** What a hop to another cell adds beyond its round trip: the same requests to the same pod, beside. */
import { performance } from "node:perf_hooks";
import { Agent, request } from "node:http";
import { HOST } from "../../test/support/activator-bench.ts";
import { CellRig } from "../../test/support/cell-rig.ts";
import type { ValkeyServer } from "../../test/support/valkey.ts";
import { median } from "../routing/statistics.ts";

const ROUNDS = 400;
const WARM_UP = 40;
const CAPACITY = 50;

export interface SpillCost {
  readonly directMs: number;
  readonly spilledMs: number;
  readonly addedMs: number;
  readonly samples: number;
}

export async function measureSpill(server: ValkeyServer): Promise<SpillCost> {
  const rig = await new CellRig(server, {
    names: ["eu", "us"],
    config: { containerConcurrency: CAPACITY },
  }).start();
  try {
    await rig.pod("us", CAPACITY);
    await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 1);
    const agent = new Agent({ keepAlive: true });
    const direct: number[] = [];
    const spilled: number[] = [];
    for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
      const one = await timed(rig.url("us"), agent);
      const other = await timed(rig.url("eu"), agent);
      if (round < WARM_UP) continue;
      direct.push(one);
      spilled.push(other);
    }
    agent.destroy();
    const [directMs, spilledMs] = [median(direct), median(spilled)];
    return { directMs, spilledMs, addedMs: spilledMs - directMs, samples: ROUNDS };
  } finally {
    await rig.close();
  }
}

function timed(url: string, agent: Agent): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers: { host: HOST } }, (answer) => {
      answer.resume();
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(performance.now() - startedAt);
        else reject(new Error(`status ${answer.statusCode}`));
      });
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
