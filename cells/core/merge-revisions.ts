/** The digest of a service out of what is known of its revisions. */
import type { ServiceDigest } from "./digest.ts";

/** What the autoscaler tells beside the routing state, as text in the store. */
export interface CellFacts {
  /** A route leads to the revision. */
  readonly reachable: boolean;
  readonly mayStart: number;
  /** Of the service. */
  readonly pods: number;
  readonly share: number;
  readonly price: number;
}

export interface RevisionState {
  readonly revision: string;
  readonly containerConcurrency: number;
  readonly startTimeMs: number;
  readonly busy: number;
  readonly waiting: number;
  readonly ready: number;
  readonly starting: number;
  readonly expectedWaitMs: number | null;
  readonly facts: CellFacts | null;
}

/** Pods without a limit take as many as anybody will send before the next digest. */
const UNLIMITED_SLOTS = 1_000;

export function mergeRevisions(
  service: string,
  revisions: readonly RevisionState[],
): ServiceDigest | null {
  const routed = revisions
    .filter(({ facts }) => facts?.reachable !== false)
    .toSorted((left, right) => right.ready - left.ready || compare(right.revision, left.revision));
  const [first] = routed;
  if (first === undefined) return null;
  const sum = (of: (state: RevisionState) => number): number =>
    routed.reduce((total, state) => total + of(state), 0);
  const most = (of: (facts: CellFacts) => number): number =>
    Math.max(0, ...routed.map(({ facts }) => (facts === null ? 0 : of(facts))));
  const warm = sum(freeSlots);
  return {
    service,
    revision: first.revision,
    warm,
    offered: warm,
    ready: sum(({ ready }) => ready),
    starting: sum(({ starting }) => starting),
    waiting: sum(({ waiting }) => waiting),
    expectedWaitMs: first.expectedWaitMs,
    expectedStartMs: first.startTimeMs > 0 ? first.startTimeMs : null,
    mayStart: most(({ mayStart }) => mayStart),
    pods: most(({ pods }) => pods),
    share: most(({ share }) => share),
    price: most(({ price }) => price),
  };
}

export function parseFacts(text: string): CellFacts | null {
  if (text === "") return null;
  try {
    // Written by the autoscaler of this cell with exactly these fields.
    return JSON.parse(text) as CellFacts;
  } catch {
    return null;
  }
}

/** Slots of ready pods that no request holds; nobody is offered one while others wait for it. */
export function freeSlots(state: RevisionState): number {
  const { ready, busy, waiting, containerConcurrency } = state;
  if (ready === 0 || waiting > 0) return 0;
  if (containerConcurrency === 0) return UNLIMITED_SLOTS;
  return Math.max(0, ready * containerConcurrency - busy);
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
