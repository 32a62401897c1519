/** The parts by which an autoscaler takes part in a platform of several cells, put together. */
import { randomInt } from "node:crypto";
import { createRandom } from "../common/random.ts";
import type { Certificates } from "../cells/certificates.ts";
import { CellDirectory } from "../cells/directory.ts";
import { PeerPods } from "../cells/peer-pods.ts";
import { ShareClient } from "../cells/share-client.ts";
import type { Logger } from "../foundation/logger.ts";
import type { CellCalls } from "../store/cell-calls.ts";
import { CellScaling } from "./cell-scaling.ts";
import type { ScaledRevision } from "./ports.ts";

export interface CellPartsOptions {
  /** Name of this cell. */
  readonly own: string;
  readonly folder: string;
  /** Started by whoever made them: they outlive the time in which this process leads. */
  readonly certificates: Certificates;
  readonly name: string;
  readonly calls: CellCalls;
  readonly logger: Logger;
  /** Revisions that are there when this begins. */
  readonly revisions: readonly ScaledRevision[];
  /** Asked before each word to another cell, and before a share is used; default: always. */
  readonly mayAct?: () => boolean;
}

export interface CellParts {
  readonly scaling: CellScaling;
  readonly shares: ShareClient;
  readonly directory: CellDirectory;
  start(): void;
  close(): void;
}

export function createCellParts(options: CellPartsOptions): CellParts {
  const { own, folder, certificates, name, calls, logger, revisions } = options;
  const now = (): number => performance.now();
  const random = createRandom(randomInt(2 ** 32));
  const directory = new CellDirectory({ folder, own, logger });
  const shares = new ShareClient({
    directory,
    certificates,
    calls,
    name,
    random,
    logger,
    now,
    mayAct: options.mayAct ?? (() => true),
    uncounted: () => scaling.uncounted,
    onChange: (service) => scaling.shareChanged(service),
  });
  const peers = new PeerPods({ directory, certificates, name, random, now });
  const scaling = new CellScaling({ directory, shares, peers, calls, logger, name, revisions });
  return {
    scaling,
    shares,
    directory,
    start: () => {
      directory.start();
      shares.start();
      peers.start();
    },
    close: () => {
      shares.close();
      peers.close();
      directory.stop();
    },
  };
}
