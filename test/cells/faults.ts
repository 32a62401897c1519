/** The faults of a platform of several cells, in the order in which they run. */
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { CONTROL_PROTOCOL } from "../../common/contracts/cells.ts";
import { createCellAuthority } from "../../local/cell-certificates.ts";
import { call } from "../support/activator-bench.ts";
import { eventually } from "../support/eventually.ts";
import { CELLS, pause } from "./world.ts";
import type { CellsWorld } from "./world.ts";

export interface CellFault {
  readonly name: string;
  /** Modules loaded before the activator of a cell. */
  readonly preloads?: Readonly<Record<string, readonly string[]>>;
  /** Breaks something, and mends it where it can be mended. */
  readonly inject: (world: CellsWorld) => Promise<void>;
  /** Load goes on for so long after that. */
  readonly afterMs: number;
}

const HOUR_AHEAD = fileURLToPath(new URL("../faults/preload/hour-ahead.ts", import.meta.url));

const bothWays = (
  world: CellsWorld,
  from: string,
  to: string,
): readonly ReturnType<CellsWorld["rig"]["relay"]>[] => [
  world.rig.relay(from, to),
  world.rig.relay(to, from),
];

const others = (cell: string): readonly string[] => CELLS.filter((other) => other !== cell);

export const CELL_FAULTS: readonly CellFault[] = [
  {
    name: "cell killed",
    inject: (world) => world.killCell("us"),
    afterMs: 4_000,
  },
  {
    name: "cell paused and resumed",
    inject: async (world) => {
      const pid = world.processes.get("us")?.pid ?? 0;
      world.enterAt("eu", "ap");
      process.kill(pid, "SIGSTOP");
      await pause(5_000);
      process.kill(pid, "SIGCONT");
      world.enterAt(...CELLS);
    },
    afterMs: 4_000,
  },
  {
    name: "one direction cut",
    inject: async (world) => {
      world.rig.relay("eu", "us").set({ dead: ["back"] });
      await pause(5_000);
      world.rig.relay("eu", "us").drop();
      world.rig.relay("eu", "us").set({ dead: [] });
    },
    afterMs: 4_000,
  },
  {
    name: "half-open stream",
    inject: async (world) => {
      for (const relay of bothWays(world, "eu", "us")) relay.set({ dead: ["out", "back"] });
      await pause(5_000);
      for (const relay of bothWays(world, "eu", "us")) {
        relay.drop();
        relay.set({ dead: [] });
      }
    },
    afterMs: 4_000,
  },
  {
    name: "digest delayed by 5 s",
    inject: async (world) => {
      world.rig.relay("eu", "us").set({ delayMs: 5_000 });
      await pause(6_000);
      world.rig.relay("eu", "us").set({ delayMs: 10 });
    },
    afterMs: 4_000,
  },
  {
    name: "clock of a cell wrong by an hour",
    preloads: { us: [HOUR_AHEAD] },
    inject: () => pause(4_000),
    afterMs: 1_000,
  },
  {
    name: "home lost for a minute with demand rising elsewhere",
    inject: async (world) => {
      world.demand({ eu: 2, us: 2, ap: 1 });
      await pause(2_000);
      // A minute would show no more than these seconds do: shares are asked for every second.
      for (const other of others("eu")) {
        for (const relay of bothWays(world, "eu", other)) relay.set({ dead: ["out", "back"] });
      }
      world.demand({ eu: 8, us: 9, ap: 9 });
      await pause(8_000);
      for (const other of others("eu")) {
        for (const relay of bothWays(world, "eu", other)) {
          relay.drop();
          relay.set({ dead: [] });
        }
      }
    },
    afterMs: 5_000,
  },
  {
    name: "store of the home cell emptied",
    inject: async (world) => {
      world.demand({ eu: 3, us: 3, ap: 3 });
      await pause(3_000);
      await world.servers.get("eu")?.admin.flushall();
      const { bench } = world.rig.cell("eu");
      await bench.configure({ regions: CELLS.join(",") });
      await world.rig.facts("eu", {});
      world.demand({ eu: 9, us: 9, ap: 9 });
    },
    afterMs: 6_000,
  },
  {
    name: "split into two halves and healed",
    inject: async (world) => {
      world.demand({ eu: 2, us: 5, ap: 2 });
      await pause(2_000);
      const half = others("us").flatMap((other) => bothWays(world, "us", other));
      for (const relay of half) relay.set({ dead: ["out", "back"] });
      world.demand({ eu: 9, us: 9, ap: 9 });
      await pause(6_000);
      for (const relay of half) {
        relay.drop();
        relay.set({ dead: [] });
      }
    },
    afterMs: 5_000,
  },
  {
    name: "price and regions changed live",
    inject: async (world) => {
      const prices = { default: 9 };
      // Where the service may not run, a request that enters is refused, and rightly so.
      world.enterAt("eu", "us");
      await eventually(() => world.ledger.openAt("ap") === 0, {
        timeoutMs: PATIENT.queueTimeoutMs,
        what: "nobody waits where the service will not run",
      });
      for (const cell of CELLS) {
        const { folder, bench } = world.rig.cell(cell);
        const path = join(folder, "us");
        const entry = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
        writeFileSync(path, JSON.stringify({ ...entry, prices }));
        await bench.configure({ regions: "eu,us", ...PATIENT });
      }
      await pause(3_000);
      for (const cell of CELLS) {
        await world.rig.cell(cell).bench.configure({ regions: CELLS.join(","), ...PATIENT });
      }
      const url = world.processes.get("ap")?.dataUrl ?? "";
      await eventually(async () => (await call(url, "/")).status === 200, {
        timeoutMs: PATIENT.queueTimeoutMs,
        what: "the service runs there again",
      });
      world.enterAt(...CELLS);
    },
    afterMs: 3_000,
  },
  {
    name: "certificate renewed under load",
    inject: async (world) => {
      for (const cell of CELLS) {
        world.rig.writeCertificate(cell, world.rig.authority.issue(cell));
      }
      await pause(2_000);
      // Every connection is made anew with the new pairs.
      for (const from of CELLS) {
        for (const to of others(from)) world.rig.relay(from, to).drop();
      }
    },
    afterMs: 4_000,
  },
  {
    name: "forged peer",
    inject: async (world) => {
      const peer = world.processes.get("us")?.peer ?? "";
      await forge(peer, createCellAuthority(Date.now()).issue("eu"));
      const headers = {
        "pilotlight-hop": "1",
        "pilotlight-spill": "warm",
        "pilotlight-remaining": "wait=1000",
      };
      for (let round = 0; round < 20; round += 1) {
        const url = world.processes.get("eu")?.dataUrl ?? "";
        await call(url, "/", { headers }).catch(() => undefined);
      }
    },
    afterMs: 2_000,
  },
];

/** As the world configures its service. */
const PATIENT = {
  queueTimeoutMs: 40_000,
  activationTimeoutMs: 40_000,
  timeoutMs: 40_000,
  queueDepth: 10_000,
};

/** A peer whose certificate another authority made: it must not come as far as a word. */
async function forge(
  peer: string,
  pair: { readonly cert: string; readonly key: string },
): Promise<void> {
  const colon = peer.lastIndexOf(":");
  const socket = connect({
    host: peer.slice(0, colon),
    port: Number(peer.slice(colon + 1)),
    cert: pair.cert,
    key: pair.key,
    rejectUnauthorized: false,
    ALPNProtocols: [CONTROL_PROTOCOL],
  });
  const heard = await new Promise<string>((resolve) => {
    socket.on("secureConnect", () => socket.write('{"kind":"hello","cell":"eu","name":"x"}\n'));
    socket.on("data", (bytes: Buffer) => resolve(bytes.toString()));
    socket.on("error", () => resolve(""));
    socket.on("close", () => resolve(""));
  });
  socket.destroy();
  if (heard !== "") throw new Error(`a forged peer was answered: ${heard.slice(0, 80)}`);
}
