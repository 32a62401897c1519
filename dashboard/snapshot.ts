/**
 * Takes one snapshot: reads the store in bounded batches, asks the activators, and joins both with
 * what the scaler says. A slow or dead store makes a snapshot that says so, never an exception.
 */
import { errorText } from "../common/errors.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { RevisionFigures } from "../store/types.ts";
import type { ActivatorInfo, RevisionInfo } from "./facts.ts";
import type { DashboardParts } from "./ports.ts";
import { revisionView, serviceView } from "./view.ts";
import type { RevisionReading, RevisionView, Snapshot, StoreHealth } from "./view.ts";

/** A read that takes longer counts as failed; the page would show stale figures as fresh ones. */
const READ_TIMEOUT_MS = 2_000;
/** Revisions read at once, so that many services do not flood the store in one instant. */
const READ_BATCH = 16;

/** Records read per revision; several requests may have seen the start of one pod. */
const COLD_START_RECORDS = 60;

/** Figures of the sample before, for rates. */
export type FiguresByRevision = ReadonlyMap<RevisionKey, RevisionFigures>;

export interface TakenSnapshot {
  readonly snapshot: Snapshot;
  readonly figures: FiguresByRevision;
}

export async function takeSnapshot(
  parts: DashboardParts,
  before: FiguresByRevision,
): Promise<TakenSnapshot> {
  const services = parts.services();
  const [{ readings, store }, activators] = await Promise.all([
    readStore(
      parts,
      services.flatMap((service) => service.revisions),
    ),
    readActivators(parts),
  ]);
  const view = (revision: RevisionInfo): RevisionView => {
    const { key } = revision;
    return revisionView(revision, parts.scaler(key), readings.get(key), before.get(key));
  };
  return {
    snapshot: {
      at: parts.clock.now(),
      run: parts.run,
      store,
      activators,
      services: services.map((service) => serviceView(service, service.revisions.map(view))),
    },
    figures: new Map([...readings].map(([key, { figures }]) => [key, figures])),
  };
}

interface StoreRead {
  readonly readings: ReadonlyMap<RevisionKey, RevisionReading>;
  readonly store: StoreHealth;
}

async function readStore(
  parts: DashboardParts,
  revisions: readonly RevisionInfo[],
): Promise<StoreRead> {
  const readings = new Map<RevisionKey, RevisionReading>();
  let readMs = 0;
  try {
    // With no service there is nothing to read, but whether the store answers is still a question.
    if (revisions.length === 0) await withTimeout(parts.store.listRevisions());
    for (let first = 0; first < revisions.length; first += READ_BATCH) {
      const batch = revisions.slice(first, first + READ_BATCH);
      const startedAt = parts.clock.now();
      const results = await withTimeout(Promise.all(batch.map(({ key }) => readOne(parts, key))));
      readMs = Math.max(readMs, parts.clock.now() - startedAt);
      batch.forEach(({ key }, index) => {
        const reading = results[index];
        if (reading !== undefined) readings.set(key, reading);
      });
    }
    return { readings, store: { state: "ready", readMs, reason: "" } };
  } catch (error) {
    return { readings, store: { state: "down", readMs, reason: errorText(error) } };
  }
}

async function readOne(parts: DashboardParts, key: RevisionKey): Promise<RevisionReading> {
  const { store } = parts;
  const [figures, targets, coldStarts] = await Promise.all([
    store.readFigures(key, { record: false }),
    store.readTargets(key),
    store.readColdStarts(key, COLD_START_RECORDS),
  ]);
  return { figures, targets, coldStarts };
}

async function readActivators(parts: DashboardParts): Promise<readonly ActivatorInfo[]> {
  try {
    return await withTimeout(Promise.resolve(parts.activators()));
  } catch (error) {
    parts.logger.warn("activators could not be asked", { error });
    return [];
  }
}

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`No answer within ${READ_TIMEOUT_MS} ms.`)),
      READ_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
