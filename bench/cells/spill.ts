/**
 * What a hop to another cell adds beyond its round trip: the same requests to the same pod, beside.
 * A relay stands for the line between the cells; what a plain message of the size of a request takes
 * over another such relay and back, measured in turn with them, is the round trip.
 */
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { Agent, request } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { CellRelay } from "../../local/cell-relay.ts";
import { HOST } from "../../test/support/activator-bench.ts";
import { CellRig } from "../../test/support/cell-rig.ts";
import type { ValkeyServer } from "../../test/support/valkey.ts";
import { median } from "../routing/statistics.ts";

const ROUNDS = 400;
const WARM_UP = 40;
const CAPACITY = 50;
/** Of a request without a body with its TLS record, and of a short answer. */
const MESSAGE_BYTES = 700;

export interface SpillCost {
  readonly directMs: number;
  readonly spilledMs: number;
  readonly roundTripMs: number;
  /** `spilledMs` less the two others. */
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
    const line = await openLine();
    const direct: number[] = [];
    const spilled: number[] = [];
    const trips: number[] = [];
    for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
      const one = await timed(rig.url("us"), agent);
      const other = await timed(rig.url("eu"), agent);
      const trip = await line.trip();
      if (round < WARM_UP) continue;
      direct.push(one);
      spilled.push(other);
      trips.push(trip);
    }
    agent.destroy();
    line.close();
    const [directMs, spilledMs, roundTripMs] = [median(direct), median(spilled), median(trips)];
    const addedMs = spilledMs - directMs - roundTripMs;
    return { directMs, spilledMs, roundTripMs, addedMs, samples: ROUNDS };
  } finally {
    await rig.close();
  }
}

interface Line {
  /** ms for a message there and back. */
  trip(): Promise<number>;
  close(): void;
}

async function openLine(): Promise<Line> {
  const far = createServer({ noDelay: true }, (socket) => socket.pipe(socket));
  far.listen(0, "127.0.0.1");
  await once(far, "listening");
  const relay = new CellRelay();
  // A listening TCP server has an address object; a string is for pipes only.
  relay.leadTo(`127.0.0.1:${(far.address() as AddressInfo).port}`);
  const [host = "", port = ""] = (await relay.listen()).split(":");
  const near = connect({ host, port: Number(port), noDelay: true });
  await once(near, "connect");
  const message = Buffer.alloc(MESSAGE_BYTES);
  return {
    trip: async () => {
      const startedAt = performance.now();
      near.write(message);
      for (let left = MESSAGE_BYTES; left > 0;) {
        const [bytes] = (await once(near, "data")) as [Buffer];
        left -= bytes.length;
      }
      return performance.now() - startedAt;
    },
    close: () => {
      near.destroy();
      relay.close();
      far.close();
    },
  };
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
