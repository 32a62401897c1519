/**
 * What must hold after every script, whatever came before: counters equal the leases, indexes
 * equal what they index, no ticket waits beside a slot that it may use. Returns what is wrong.
 */
import type { RoutingDump, TargetDump } from "./routing-dump.ts";

const FREE_BAND = 2 ** 40;
const LOAD_STEP = 2 ** 32;
const LOAD_BAND = 2 ** 52;
const HELD_ALL = 2_147_483_647;

export function freeSlots(target: TargetDump): number {
  if (target.state !== "ready" && target.state !== "suspected") return 0;
  if (target.held === HELD_ALL) return 0;
  if (target.capacity === 0) return Number.POSITIVE_INFINITY;
  const occupied = Math.max(0, target.occupied - target.lapsed);
  return Math.max(0, target.capacity - target.inFlight - occupied - target.held);
}

export function findFaults(dump: RoutingDump): string[] {
  return [
    ...countFaults(dump),
    ...totalFaults(dump),
    ...indexFaults(dump),
    ...ownedFaults(dump),
    ...stateCountFaults(dump),
    ...waitingFaults(dump),
    ...timerFaults(dump),
  ];
}

/** I2: in flight and lapsed of a target are its leases, and lapsed leases. */
function countFaults(dump: RoutingDump): string[] {
  const leases = [...dump.requests.values()].filter((request) => request.kind === "lease");
  return [...dump.targets].flatMap(([uid, target]) => {
    const own = leases.filter((lease) => lease.uid === uid);
    const lapsed = own.filter((lease) => lease.lapsed).length;
    return [
      ...(own.length === target.inFlight
        ? []
        : [`${uid} counts ${target.inFlight} in flight and has ${own.length} leases`]),
      ...(lapsed === target.lapsed
        ? []
        : [`${uid} counts ${target.lapsed} lapsed and has ${lapsed} lapsed leases`]),
    ];
  });
}

/** The counts that each step carries along are those of what is stored. */
function totalFaults({ meta, requests, queue }: RoutingDump): string[] {
  const counted = `${meta.get("busy")} busy, ${meta.get("waiting")} waiting`;
  const stored = `${requests.size - queue.length} busy, ${queue.length} waiting`;
  return meta.has("busy") && counted !== stored ? [`counts ${counted} and has ${stored}`] : [];
}

/** Positions as in `POLICIES` of `lua/include/layout.lua`. */
const BY_LOAD = new Set(["3", "5"]);

/** Only the index of the policy is kept, and it holds all that has a free slot. */
function indexFaults(dump: RoutingDump): string[] {
  const isByLoad = BY_LOAD.has(dump.meta.get("policy") ?? "");
  const expected = new Map<string, number>();
  for (const [uid, target] of dump.targets) {
    if (freeSlots(target) === 0) continue;
    const base = (isByLoad ? target.inFlight * LOAD_STEP : 0) + target.admission;
    const band = isByLoad ? LOAD_BAND : FREE_BAND;
    expected.set(uid, base + (target.state === "suspected" ? band : 0));
  }
  const none = new Map<string, number>();
  return [
    ...compare("free", dump.free, isByLoad ? none : expected),
    ...compare("load", dump.load, isByLoad ? expected : none),
  ];
}

function ownedFaults(dump: RoutingDump): string[] {
  const expected = [...dump.requests].flatMap(([id, request]) =>
    request.kind === "lease" && request.lapsed ? [`l\u0001${request.uid}\u0001${id}`] : [],
  );
  const actual = dump.owned.filter((member) => !member.startsWith("e"));
  const tickets = [...dump.requests].filter(([, { kind }]) => kind === "ticket");
  return [
    ...compareLists("owned", actual, expected),
    ...compareLists(
      "queue",
      dump.queue,
      tickets.map(([id]) => id),
    ),
  ];
}

function stateCountFaults(dump: RoutingDump): string[] {
  const counts = new Map<string, number>();
  for (const { state } of dump.targets.values()) {
    if (state === "deleted") continue;
    counts.set(state, (counts.get(state) ?? 0) + 1);
    counts.set("all", (counts.get("all") ?? 0) + 1);
  }
  return [...dump.meta]
    .filter(([name]) => name.startsWith("n:"))
    .flatMap(([name, value]) => {
      const expected = counts.get(name.slice(2)) ?? 0;
      return Number(value) === expected ? [] : [`${name} is ${value}, should be ${expected}`];
    });
}

/** I3: no ticket of a live activator waits beside a free slot of a target that it does not exclude. */
function waitingFaults(dump: RoutingDump): string[] {
  const clock = Number(dump.meta.get("clock") ?? 0);
  const free = [...dump.targets].filter(([, target]) => freeSlots(target) > 0);
  return [...dump.requests].flatMap(([id, request]) => {
    if (request.kind !== "ticket") return [];
    if ((dump.activators.get(request.holder) ?? 0) <= clock) return [];
    const usable = free.find(([uid]) => !request.exclude.includes(uid));
    return usable === undefined ? [] : [`${id} waits although ${usable[0]} has a free slot`];
  });
}

/** Nothing can be forgotten: tombstones end, heartbeats and probes are due for whom they matter. */
function timerFaults(dump: RoutingDump): string[] {
  return [...dump.targets].flatMap(([uid, { state, admission }]) => {
    if (state === "deleted" && !dump.timers.has(`x${uid}`)) return [`tombstone ${uid} never ends`];
    const isDoubted = state === "suspected" || state === "quarantined";
    if (isDoubted !== dump.timers.has(`p${uid}`)) return [`${uid} is ${state}, probe timer wrong`];
    const mustBeat = admission > 0 && state !== "deleted";
    if (mustBeat && !dump.timers.has(`h${uid}`)) return [`${uid} is ${state} without a deadline`];
    return [];
  });
}

function compare(
  what: string,
  actual: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
): string[] {
  const uids = new Set([...actual.keys(), ...expected.keys()]);
  return [...uids]
    .filter((uid) => actual.get(uid) !== expected.get(uid))
    .map((uid) => `${what} has ${uid} at ${actual.get(uid)}, should be ${expected.get(uid)}`);
}

function compareLists(
  what: string,
  actual: readonly string[],
  expected: readonly string[],
): string[] {
  const extra = actual.filter((item) => !expected.includes(item));
  const missing = expected.filter((item) => !actual.includes(item));
  return [
    ...extra.map((item) => `${what} has ${item}`),
    ...missing.map((item) => `${what} lacks ${item}`),
  ];
}
