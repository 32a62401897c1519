/** Moves traffic on: looks at every service whose traffic moves, and takes the steps that are due. */
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { RevisionFigures, RoutingStore } from "../store/types.ts";
import { rolloutDurationOf } from "./object-files.ts";
import type { ServiceBook } from "./object-files.ts";
import type { ServiceRecord } from "./revisions.ts";
import { mayStep, rolloutSplit, stepDueAt } from "./rollout.ts";
import type { Rollout, StepFacts } from "./rollout.ts";

const LOOK_EVERY_MS = 200;

export interface RolloutDriverOptions {
  readonly book: ServiceBook;
  readonly store: Pick<RoutingStore, "readFigures">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pods that the controller wants of a revision at present. */
  readonly wantedPods: (key: RevisionKey) => number;
}

/** Answers the function that ends it. */
export function driveRollouts(options: RolloutDriverOptions): () => Promise<void> {
  let looking: Promise<void> = Promise.resolve();
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    looking = look(options)
      // Without figures nothing moves: the store comes back, or the platform stops.
      .catch((error: unknown) => options.logger.warn("rollouts not looked at", { error }))
      .finally(() => (isLooking = false));
  }, LOOK_EVERY_MS);
  return () => {
    clearInterval(timer);
    return looking;
  };
}

async function look(options: RolloutDriverOptions): Promise<void> {
  const { book, clock } = options;
  for (const service of book.services()) {
    const { rollout } = service;
    if (rollout === null) continue;
    const durationMs = rolloutDurationOf(service);
    if (durationMs > 0 && clock.now() < stepDueAt(rollout, durationMs)) continue;
    const isFree = durationMs === 0 || mayStep(rollout, await readFacts(options, service, rollout));
    if (isFree) book.stepRollout(service.definition.key, rollout);
  }
}

async function readFacts(
  { store, wantedPods }: RolloutDriverOptions,
  service: ServiceRecord,
  rollout: Rollout,
): Promise<StepFacts> {
  const { namespace } = service.definition;
  const names = rolloutSplit(rollout).map(({ revision }) => revision);
  const figures = await Promise.all(
    names.map((name) => store.readFigures(`${namespace}/${name}`, { record: false })),
  );
  const own = figures[names.indexOf(rollout.to)];
  const revision = service.revisions.find(({ name }) => name === rollout.to);
  const slotsPerPod = revision?.template.containerConcurrency || Number.POSITIVE_INFINITY;
  const readyPods = own?.targetsByState.ready ?? 0;
  return {
    slots: readyPods === 0 ? 0 : readyPods * slotsPerPod,
    ownLoad: own === undefined ? 0 : loadOf(own),
    wholeLoad: figures.reduce((sum, one) => sum + loadOf(one), 0),
    readyPods,
    wantedPods: wantedPods(`${namespace}/${rollout.to}`),
  };
}

function loadOf(figures: RevisionFigures): number {
  return figures.busy + figures.waiting;
}
