/** The parts by which an autoscaler takes part in a platform of several cells, put together. */
import { randomInt } from "node:crypto";
import { createRandom } from "../common/random.ts";
import { Certificates } from "../cells/certificates.ts";
import { CellDirectory } from "../cells/directory.ts";
import { PeerPods } from "../cells/peer-pods.ts";
import { ShareClient } from "../cells/share-client.ts";
import type { Logger } from "../foundation/logger.ts";
import type { CellCalls } from "../store/cell-calls.ts";
import { CellScaling } from "./cell-scaling.ts";

export interface CellPartsOptions {
  /** Name of this cell. */
  readonly own: string;
  readonly folder: string;
  readonly certificates: string;
  readonly name: string;
  readonly calls: CellCalls;
  readonly logger: Logger;
}

export interface CellParts {
  readonly scaling: CellScaling;
  readonly shares: ShareClient;
  readonly directory: CellDirectory;
  start(): void;
  close(): void;
}

export function createCellParts(options: CellPartsOptions): CellParts {
  const { own, folder, name, calls, logger } = options;
  const now = (): number => performance.now();
  const random = createRandom(randomInt(2 ** 32));
  const directory = new CellDirectory({ folder, own, logger });
  const certificates = new Certificates(options.certificates, logger);
  const shares = new ShareClient({
    directory,
    certificates,
    calls,
    name,
    random,
    logger,
    now,
    onChange: (service) => scaling.shareChanged(service),
  });
  const peers = new PeerPods({ directory, certificates, name, random, now });
  const scaling = new CellScaling({ directory, shares, peers, calls, logger, name });
  return {
    scaling,
    shares,
    directory,
    start: () => {
      directory.start();
      certificates.start();
      shares.start();
      peers.start();
    },
    close: () => {
      shares.close();
      peers.close();
      certificates.stop();
      directory.stop();
    },
  };
}
