/**
 * Takes one snapshot: reads the store in bounded batches, asks the activators, and joins both with
 * what the scaler says. A slow or dead store makes a snapshot that says so, never an exception.
 */
import type { CellsPage } from "../common/contracts/cells-page.ts";
import type { ActivatorFigures } from "../common/contracts/activator-figures.ts";
import { errorText } from "../common/errors.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { RevisionFigures } from "../store/types.ts";
import type { ActivatorInfo, RevisionInfo, ServiceInfo } from "./facts.ts";
import type { DashboardParts } from "./ports.ts";
import { Past } from "./past.ts";
import { workflowRow } from "./workflow-row.ts";
import type { WorkflowRow } from "./workflow-row.ts";
import { revisionView, runRow, serviceView } from "./view.ts";
import type { RevisionReading, RevisionView, RunRow, Snapshot, StoreHealth } from "./view.ts";

/** A read that takes longer counts as failed; the page would show stale figures as fresh ones. */
const READ_TIMEOUT_MS = 2_000;
/** Revisions read at once, so that many services do not flood the store in one instant. */
const READ_BATCH = 16;

/** Records read per revision; several requests may have seen the start of one pod. */
const COLD_START_RECORDS = 60;
/** Workflows read; the page shows the first of them. */
const WORKFLOW_ROWS = 40;
/** Asynchronous runs read per service. */
const RUN_ROWS = 20;

/** Figures of the sample before, for rates. */
export type FiguresByRevision = ReadonlyMap<RevisionKey, RevisionFigures>;

export interface TakenSnapshot {
  readonly snapshot: Snapshot;
  readonly figures: FiguresByRevision;
}

export async function takeSnapshot(
  parts: DashboardParts,
  before: FiguresByRevision,
  past: Past = new Past(),
): Promise<TakenSnapshot> {
  const services = parts.services();
  const [{ readings, store }, activators, figures, runs, workflows, cells] = await Promise.all([
    readStore(
      parts,
      services.flatMap((service) => service.revisions),
    ),
    readActivators(parts),
    readFigures(parts),
    readRuns(parts, services),
    readWorkflows(parts),
    readCells(parts),
  ]);
  past.note(parts.clock.now(), figures, [...readings.values()]);
  const view = (revision: RevisionInfo): RevisionView => {
    const { key } = revision;
    const reading = readings.get(key);
    const known = reading === undefined ? undefined : { ...reading, past: past.of(key) };
    return revisionView(revision, parts.scaler(key), known, before.get(key));
  };
  return {
    snapshot: {
      at: parts.clock.now(),
      run: parts.run,
      store,
      activators: activators.map((activator) => withFigures(activator, figures)),
      services: services.map((service) => {
        const key = `${service.namespace}/${service.name}`;
        return serviceView(service, service.revisions.map(view), runs.get(key));
      }),
      ...(workflows === undefined ? {} : { workflows }),
      ...(cells === null ? {} : { cells }),
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
  const [figures, targets, coldStarts, config] = await Promise.all([
    store.readFigures(key, { record: false }),
    store.readTargets(key),
    store.readColdStarts(key, COLD_START_RECORDS),
    store.readRevision(key),
  ]);
  const { activators: activatorsWanted } = config ?? {};
  const read = { figures, targets, coldStarts };
  return activatorsWanted === undefined ? read : { ...read, activatorsWanted };
}

async function readActivators(parts: DashboardParts): Promise<readonly ActivatorInfo[]> {
  try {
    return await withTimeout(Promise.resolve(parts.activators()));
  } catch (error) {
    parts.logger.warn("activators could not be asked", { error });
    return [];
  }
}

/** Asked beside the state of the activators: what does not answer is left out. */
async function readFigures(parts: DashboardParts): Promise<readonly ActivatorFigures[]> {
  try {
    return parts.figures === undefined ? [] : await withTimeout(parts.figures());
  } catch (error) {
    parts.logger.warn("figures of activators could not be read", { error });
    return [];
  }
}

async function readRuns(
  parts: DashboardParts,
  services: readonly ServiceInfo[],
): Promise<ReadonlyMap<string, readonly RunRow[]>> {
  const { runs } = parts;
  const offering = services.filter(({ takesRuns }) => takesRuns === true);
  if (runs === undefined || offering.length === 0) return new Map();
  try {
    const read = offering.map(async ({ namespace, name }): Promise<[string, readonly RunRow[]]> => {
      const key = `${namespace}/${name}` as const;
      return [key, (await runs(key, RUN_ROWS)).map(runRow)];
    });
    return new Map(await withTimeout(Promise.all(read)));
  } catch (error) {
    parts.logger.warn("asynchronous runs could not be read", { error });
    return new Map();
  }
}

async function readWorkflows(parts: DashboardParts): Promise<readonly WorkflowRow[] | undefined> {
  const { workflows, clock, logger } = parts;
  if (workflows === undefined) return undefined;
  try {
    const recent = await withTimeout(workflows.recent(WORKFLOW_ROWS));
    const views = await withTimeout(Promise.all(recent.map((one) => workflows.read(one))));
    const nowUs = clock.now() * 1_000;
    return recent.flatMap((one, index) => {
      const view = views[index];
      return view === undefined || view === null ? [] : [workflowRow(one, view, nowUs)];
    });
  } catch (error) {
    logger.warn("workflows could not be read", { error });
    return [];
  }
}

async function readCells({ cells, logger }: DashboardParts): Promise<CellsPage | null> {
  if (cells === undefined) return null;
  try {
    return await withTimeout(cells());
  } catch (error) {
    logger.warn("cells could not be read", { error });
    return null;
  }
}

function withFigures(
  activator: ActivatorInfo,
  figures: readonly ActivatorFigures[],
): ActivatorInfo {
  const own = figures.find(({ activatorId }) => activatorId === activator.id);
  if (own === undefined) return activator;
  const sum = (figure: "waiting" | "running" | "pods"): number =>
    own.revisions.reduce((total, revision) => total + revision[figure], 0);
  const counts = { waiting: sum("waiting"), running: sum("running"), pods: sum("pods") };
  if (!own.degraded) return { ...activator, ...counts };
  const reason = "the store is away: it serves its own pods only";
  return { ...activator, ...counts, state: "degraded", reason };
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
