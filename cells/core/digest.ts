/**
 * What one cell tells another of a service, and how that travels: as short lists, because a
 * thousand services are told each second. No clock time is in it.
 */

/** `namespace/name` of a service. */
export type ServiceName = string;

export interface ServiceDigest {
  readonly service: ServiceName;
  /** Revision that a spilled request is for. */
  readonly revision: string;
  /** Free slots on ready pods. */
  readonly warm: number;
  /** How many of them this receiver may send for. */
  readonly offered: number;
  readonly ready: number;
  readonly starting: number;
  readonly waiting: number;
  readonly expectedWaitMs: number | null;
  readonly expectedStartMs: number | null;
  readonly mayStart: number;
  /** Pods that the cell runs now, starting ones included. */
  readonly pods: number;
  /** Pods that the cell may run. */
  readonly share: number;
  readonly price: number;
}

export type DigestRow = readonly [
  service: string,
  revision: string,
  warm: number,
  offered: number,
  ready: number,
  starting: number,
  waiting: number,
  expectedWaitMs: number | null,
  expectedStartMs: number | null,
  mayStart: number,
  pods: number,
  share: number,
  price: number,
];

export function toRow(digest: ServiceDigest): DigestRow {
  return [
    digest.service,
    digest.revision,
    digest.warm,
    digest.offered,
    digest.ready,
    digest.starting,
    digest.waiting,
    digest.expectedWaitMs,
    digest.expectedStartMs,
    digest.mayStart,
    digest.pods,
    digest.share,
    digest.price,
  ];
}

/** Null for what is no row: a peer of another version, or a fault. */
export function fromRow(row: unknown): ServiceDigest | null {
  if (!Array.isArray(row) || row.length < 13) return null;
  const [service, revision, ...rest] = row as readonly unknown[];
  if (typeof service !== "string" || typeof revision !== "string") return null;
  const counts = rest.map((value) => (typeof value === "number" ? value : null));
  const count = (index: number): number => counts[index] ?? 0;
  return {
    service,
    revision,
    warm: count(0),
    offered: count(1),
    ready: count(2),
    starting: count(3),
    waiting: count(4),
    expectedWaitMs: counts[5] ?? null,
    expectedStartMs: counts[6] ?? null,
    mayStart: count(7),
    pods: count(8),
    share: count(9),
    price: count(10),
  };
}

/** Whether other cells would choose differently: expected times that wobble say nothing new. */
export function differs(left: ServiceDigest, right: ServiceDigest): boolean {
  return (
    EXACT.some((field) => left[field] !== right[field]) ||
    isFar(left.expectedWaitMs, right.expectedWaitMs) ||
    isFar(left.expectedStartMs, right.expectedStartMs)
  );
}

const EXACT = [
  "revision",
  "warm",
  "offered",
  "ready",
  "starting",
  "waiting",
  "mayStart",
  "pods",
  "share",
  "price",
] as const satisfies readonly (keyof ServiceDigest)[];

function isFar(left: number | null, right: number | null): boolean {
  if (left === null || right === null) return left !== right;
  return Math.abs(left - right) > 0.1 * Math.max(left, right, 10);
}

/**
 * Slots that each of several entries may send for, so that all together ask for no more than there
 * are and one each: a slot must not be offered to all of them.
 */
export function offeredSlots(warm: number, entries: number): number {
  if (warm <= 0) return 0;
  return Math.floor(warm / Math.max(1, entries)) + (entries > 1 ? 1 : 0);
}
