/** The deciding side of a local platform: the cluster's controller, fed from files that are watched. */
import { createCellParts } from "../autoscaler/cell-parts.ts";
import type { CellParts } from "../autoscaler/cell-parts.ts";
import { createAutoscaler } from "../autoscaler/controller.ts";
import { tuneInThread } from "../autoscaler/tuner.ts";
import type { Autoscaler } from "../autoscaler/controller.ts";
import { Certificates } from "../cells/certificates.ts";
import { EVENT_SOURCE } from "../common/contracts/events.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { createRandom } from "../common/random.ts";
import { systemClock } from "../foundation/clock.ts";
import { createEventEmitter, httpEventSink } from "../foundation/events.ts";
import type { EventEmitter } from "../foundation/events.ts";
import { startControlServer } from "./control-server.ts";
import { Loader } from "./loader.ts";
import { createResourceMeter } from "./resource-meter.ts";
import type { MeteredPod } from "./resource-meter.ts";
import { driveRollouts } from "./rollout-driver.ts";
import type { Serving } from "./serving.ts";
import { LOCAL_DEFAULTS } from "./settings-check.ts";
import { ServiceSources } from "./sources.ts";

export interface Control {
  readonly autoscaler: Autoscaler;
  /** Null on a platform of one cell. */
  readonly cells: CellParts | null;
  readonly sources: ServiceSources;
  /** Socket on which services are applied and deleted. */
  readonly socket: string;
}

/** Loads the services, and from now on their changes. */
export async function openSources(
  { base, book }: Serving,
  paths: readonly string[],
): Promise<ServiceSources> {
  const loader = new Loader({
    book,
    hostEnv: base.env,
    onError: (finding) => base.events.finding("error", finding),
    onWarning: (finding) => base.events.finding("warning", finding),
  });
  const sources = new ServiceSources(loader);
  await sources.apply(paths);
  base.stops.add("file watch", () => sources.close());
  return sources;
}

export async function startControl(serving: Serving, sources: ServiceSources): Promise<Control> {
  const { base, book, pods, statuses } = serving;
  await serving.routes.write();
  const cells = openCellParts(serving);
  const autoscaler = createAutoscaler({
    ...(cells === null ? {} : { cellScaling: cells.scaling }),
    store: base.store.store,
    subscriber: base.store.subscriber,
    objects: book,
    scale: pods,
    status: statuses,
    clock: systemClock,
    random: createRandom(process.pid),
    logger: base.logger,
    defaults: LOCAL_DEFAULTS,
    ...eventsOf(serving),
    learning: { knowledge: base.store.knowledge, tune: tuneInThread },
    metricsSource: createResourceMeter({
      clock: systemClock,
      pods: (key) => metered(serving, key),
    }),
  });
  base.stops.add("autoscaler", () => autoscaler.stop());
  await autoscaler.start();
  const stopRollouts = driveRollouts({
    book,
    store: base.store.store,
    clock: systemClock,
    logger: base.logger,
    wantedPods: (key) => Math.max(0, statuses.get(key)?.desiredScale ?? 0),
  });
  base.stops.add("rollouts", stopRollouts);
  const server = await startControlServer(base.folder, sources, base.logger);
  base.stops.add("control socket", () => server.close());
  return { autoscaler, cells, sources, socket: server.path };
}

function openCellParts({ base, book }: Serving): CellParts | null {
  const { cell, store, logger, stops } = base;
  if (cell === undefined) return null;
  const { name: own, cellsFolder: folder } = cell;
  const certificates = new Certificates(cell.certificates, logger);
  const parts = createCellParts({
    own,
    folder,
    certificates,
    name: "autoscaler",
    calls: store.cells,
    logger,
    revisions: book.list(),
  });
  stops.add("cells", () => {
    parts.close();
    certificates.stop();
    return Promise.resolve();
  });
  certificates.start();
  parts.start();
  return parts;
}

/** The variable that a Knative SinkBinding sets; without it there are no CloudEvents. */
function eventsOf({ base }: Serving): { readonly events?: EventEmitter } {
  const sink = base.env["K_SINK"] ?? "";
  if (sink === "") return {};
  const { logger, stops } = base;
  const events = createEventEmitter({ source: EVENT_SOURCE, sink: httpEventSink(sink), logger });
  stops.add("events", () => events.stop());
  return { events };
}

function metered({ pods, book }: Serving, key: RevisionKey): readonly MeteredPod[] {
  const container = book.podPlan(key)?.template.container;
  if (container === undefined) return [];
  const { cpuCores, memoryBytes } = container;
  const ready = pods.summaries().filter((pod) => pod.key === key && pod.phase === "ready");
  return ready.map(({ uid, userPid }) => ({ uid, groupId: userPid, cpuCores, memoryBytes }));
}
