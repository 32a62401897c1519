/**
 * The scaling of one cell without pods: its demand is a number, its share is the real one, asked for
 * over the real wire. Runs as many as it may, and gives back after they are gone.
 */
import { Certificates } from "../../cells/certificates.ts";
import { roomOf } from "../../cells/core/own-share.ts";
import { CellDirectory } from "../../cells/directory.ts";
import { ShareClient } from "../../cells/share-client.ts";
import { createRandom } from "../../common/random.ts";
import { createLogger } from "../../foundation/logger.ts";
import type { CellCalls } from "../../store/cell-calls.ts";

export const SHARED_SERVICE = "default/shared";
export const MAX_PODS = 10;

export class Sharer {
  readonly cell: string;
  running = 0;
  demand = 0;
  readonly shares: ShareClient;
  readonly #directory: CellDirectory;
  readonly #certificates: Certificates;
  readonly #timer: NodeJS.Timeout;

  constructor(options: {
    readonly cell: string;
    readonly folder: string;
    readonly certificates: string;
    readonly calls: CellCalls;
  }) {
    const { cell, folder, calls } = options;
    const logger = createLogger({ name: "sharer", level: "silent" });
    this.cell = cell;
    this.#directory = new CellDirectory({ folder, own: cell, logger });
    this.#certificates = new Certificates(options.certificates, logger);
    this.shares = new ShareClient({
      directory: this.#directory,
      certificates: this.#certificates,
      calls,
      name: `sharer-${cell}`,
      random: createRandom(1),
      logger,
      now: () => performance.now(),
      onChange: () => this.#run(),
    });
    this.#directory.start();
    this.#certificates.start();
    this.shares.start();
    this.#timer = setInterval(() => this.#run(), 50);
  }

  close(): void {
    clearInterval(this.#timer);
    this.shares.close();
    this.#certificates.stop();
    this.#directory.stop();
  }

  #run(): void {
    const holds = this.shares.holds(SHARED_SERVICE);
    // Pods that are asked for exist at once; those that are not wanted are gone at once.
    this.running = Math.min(this.demand, holds);
    this.shares.wish(SHARED_SERVICE, {
      regions: ["eu", "us", "ap"],
      wanted: this.demand,
      inUse: this.running,
      room: roomOf({ buffer: 0, max: MAX_PODS, cells: 3, isHome: this.cell === "eu" }),
      max: MAX_PODS,
    });
  }
}
