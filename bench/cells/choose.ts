/** Time of one choice out of 20 cells, with the snapshot of 1,000 services that it is made from. */
import { performance } from "node:perf_hooks";
import type { CellEntry } from "../../cells/core/cell-entry.ts";
import { chooseCell } from "../../cells/core/choose-cell.ts";
import { Snapshot } from "../../cells/core/snapshot.ts";
import { createRandom } from "../../common/random.ts";

const CELLS = 20;
const SERVICES = 1_000;
const CHOICES = 2_000;
/** The quietest round counts: a busy machine takes the processor away in the middle of a choice. */
const ROUNDS = 20;

export interface ChooseCost {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly samples: number;
}

export function measureChoose(): ChooseCost {
  const rounds = Array.from({ length: ROUNDS }, () => measureRound());
  const [quietest] = rounds.toSorted((left, right) => left.p99Ms - right.p99Ms);
  if (quietest === undefined) throw new Error("no rounds");
  return { ...quietest, samples: ROUNDS * CHOICES };
}

function measureRound(): ChooseCost {
  const random = createRandom(3);
  const snapshot = new Snapshot();
  const cells = Array.from({ length: CELLS }, (_, index) => entry(`c${index}`));
  const [here, ...others] = cells;
  if (here === undefined) throw new Error("no cells");
  for (const { name } of others) learn(snapshot, name, random);
  const times = Float64Array.from({ length: CHOICES }, () => {
    const service = `default/s${Math.floor(random() * SERVICES)}`;
    const startedAt = performance.now();
    const offers = snapshot.offers({
      service,
      regions: ["global"],
      here: { cell: here, digest: null },
      others,
      tried: new Set(),
      containerConcurrency: 1,
      now: 1_000,
    });
    chooseCell({ cells: offers, remainingMs: 10_000, dice: [random(), random()] });
    return performance.now() - startedAt;
  }).toSorted();
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), samples: CHOICES };
}

function entry(name: string): CellEntry {
  return { name, region: name, tags: [], peer: "127.0.0.1:1", isHome: false, prices: {} };
}

function learn(snapshot: Snapshot, cell: string, random: () => number): void {
  const digests = Array.from({ length: SERVICES }, (_, index) => ({
    service: `default/s${index}`,
    revision: `s${index}-00001`,
    warm: 0,
    offered: random() < 0.2 ? Math.floor(random() * 5) : 0,
    ready: 2,
    starting: 0,
    waiting: 1,
    expectedWaitMs: 500 + 1_000 * random(),
    expectedStartMs: 20_000 * random(),
    mayStart: 2,
    pods: 2,
    share: 4,
    price: random(),
  }));
  snapshot.learn(cell, digests, 990, 1_000);
  snapshot.tripTook(cell, 20 + 200 * random());
}
