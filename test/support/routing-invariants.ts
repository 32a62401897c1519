/**
 * What must hold after every script, whatever came before: counters equal the leases, indexes
 * equal what they index, no ticket waits beside a slot that it may use. Returns what is wrong.
 */
import type { RoutingDump, TargetDump } from "./routing-dump.ts";

const BAND = 2 ** 40;
const LOAD_STEP = 2 ** 32;
const LOAD_BAND = 2 ** 52;
const WORK_STEP = 2 ** 43;
const HELD_ALL = 2_147_483_647;

/** Slots on which a call would run at once; minus infinity in a state that takes none. */
export function runSlots(target: TargetDump): number {
  const isUsable = target.state === "ready" || target.state === "suspected";
  if (!isUsable || target.held === HELD_ALL) return Number.NEGATIVE_INFINITY;
  if (target.capacity === 0) return Number.POSITIVE_INFINITY;
  const occupied = Math.max(0, target.occupied - target.lapsed);
  return target.capacity - target.inFlight - occupied - target.held;
}

/** Places of a local queue are slots too. */
export function freeSlots(target: TargetDump, places: number): number {
  return Math.max(0, runSlots(target) + places);
}

export const placesOf = (dump: RoutingDump): number => Number(dump.meta.get("places") ?? 0);

export function findFaults(dump: RoutingDump): string[] {
  return [
    ...countFaults(dump),
    ...totalFaults(dump),
    ...indexFaults(dump),
    ...ownedFaults(dump),
    ...stateCountFaults(dump),
    ...waitingFaults(dump),
    ...timerFaults(dump),
    ...workFaults(dump),
    ...rankFaults(dump),
  ];
}

/** Work of a target is that of its leases; ready targets are counted by profile. */
function workFaults(dump: RoutingDump): string[] {
  const leases = [...dump.requests.values()].filter((request) => request.kind === "lease");
  const ready = new Map<string, number>();
  const faults = [...dump.targets].flatMap(([uid, target]) => {
    if (target.state === "ready" && target.profile < 65_535) {
      ready.set(`r:${target.profile}`, (ready.get(`r:${target.profile}`) ?? 0) + 1);
    }
    const own = leases.filter((lease) => lease.uid === uid);
    const work = own.reduce((sum, lease) => sum + lease.workUs, 0);
    return work === target.workUs ? [] : [`${uid} has ${target.workUs} us before it, not ${work}`];
  });
  const counted = [...dump.meta].filter(([name]) => name.startsWith("r:"));
  return [
    ...faults,
    ...counted
      .filter(([name, value]) => Number(value) !== (ready.get(name) ?? 0))
      .map(([name, value]) => `${name} is ${value}, should be ${ready.get(name) ?? 0}`),
  ];
}

/** Every ticket stands in the queue as its record says, and every tenant that waits has its turn. */
function rankFaults(dump: RoutingDump): string[] {
  const isShared = dump.meta.get("shared") === "1";
  const ranked = new Map(dump.ranked.map((entry) => [entry.id, entry]));
  const expected = [...dump.requests].flatMap(([id, request]) =>
    request.kind === "ticket" && request.rank !== undefined && request.rank.orderClass < 2
      ? [{ id, rank: request.rank }]
      : [],
  );
  const placed = [...dump.requests].flatMap(([id, request]) =>
    request.kind === "lease" && request.startsAt > 0
      ? [`w\u0001${request.startsAt}\u0001${id}`]
      : [],
  );
  const offered = dump.owned.filter((member) => member.startsWith("w") && !placed.includes(member));
  return [
    ...compareLists(
      "ranked queue",
      [...ranked.keys()],
      expected.map(({ id }) => id),
    ),
    ...expected.flatMap(({ id, rank }) => {
      const entry = ranked.get(id);
      const isSame =
        entry?.orderClass === rank.orderClass &&
        entry.key === rank.key &&
        entry.tenant === rank.tenant &&
        entry.level === rank.level;
      const hasTurn = !isShared || dump.tenants.has(rank.tenant);
      if (!hasTurn) return [`${id} waits without a turn of its tenant ${rank.tenant}`];
      return isSame
        ? []
        : [`${id} stands at ${JSON.stringify(entry)}, not ${JSON.stringify(rank)}`];
    }),
    ...offered.map((member) => `owned has ${member}`),
    ...(dump.queue.length === 0 && dump.tenants.size > 64 ? ["tenants are kept"] : []),
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

/** Kinds of index by number of the policy, as in `lua/include/layout.lua`. */
const KINDS: Readonly<Record<string, "admission" | "load" | "work">> = {
  1: "admission",
  2: "admission",
  3: "load",
  4: "admission",
  5: "work",
};

/** Where a target stands in an index; undefined when it takes nothing. */
function placeOf(target: TargetDump, kind: string, places: number): number | undefined {
  if (freeSlots(target, places) === 0) return undefined;
  const isSuspected = target.state === "suspected";
  if (kind === "load") {
    return target.inFlight * LOAD_STEP + target.admission + (isSuspected ? LOAD_BAND : 0);
  }
  if (kind === "work")
    return (target.profile + (isSuspected ? 512 : 0)) * WORK_STEP + target.workUs;
  return target.admission + (runSlots(target) > 0 ? 0 : BAND) + (isSuspected ? 2 * BAND : 0);
}

/** Only the index of the policy is kept, and it holds all that has a free slot. */
function indexFaults(dump: RoutingDump): string[] {
  const kind = KINDS[dump.meta.get("policy") ?? ""] ?? "admission";
  const expected = new Map<string, number>();
  for (const [uid, target] of dump.targets) {
    const place = placeOf(target, kind, placesOf(dump));
    if (place !== undefined) expected.set(uid, place);
  }
  const isFilling = Number(dump.meta.get("filling") ?? 0) > 0;
  const none = new Map<string, number>();
  return [
    ...compare("index", dump.index, expected),
    ...(isFilling ? [] : compare("other index", dump.other, none)),
  ];
}

function ownedFaults(dump: RoutingDump): string[] {
  const expected = [...dump.requests].flatMap(([id, request]) =>
    request.kind === "lease" && request.lapsed ? [`l\u0001${request.uid}\u0001${id}`] : [],
  );
  const actual = dump.owned.filter((member) => member.startsWith("l"));
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
  const places = placesOf(dump);
  const free = [...dump.targets].filter(([, target]) => freeSlots(target, places) > 0);
  return [...dump.requests].flatMap(([id, request]) => {
    if (request.kind !== "ticket") return [];
    if ((dump.activators.get(request.holder) ?? 0) <= clock) return [];
    const tokens = request.rank?.tokens ?? 0;
    const usable = free.find(
      ([uid, { kvFree }]) => !request.exclude.includes(uid) && (kvFree < 0 || kvFree >= tokens),
    );
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
