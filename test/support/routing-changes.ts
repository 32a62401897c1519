/**
 * What one step may change, by comparing the whole state before and after it: who got a slot, in
 * which order, which states moved, and the integral.
 */
import type { RoutingDump } from "./routing-dump.ts";
import { placesOf } from "./routing-invariants.ts";
import { nextRanked } from "./routing-ranking.ts";
import type { Step } from "./routing-steps.ts";

/** I5: neither targets nor requests differ. */
export function unchanged(before: RoutingDump, after: RoutingDump): string[] {
  const text = (dump: RoutingDump): string =>
    JSON.stringify([byName(dump.targets), byName(dump.requests)]);
  return text(before) === text(after) ? [] : ["an old report changed something"];
}

const SWEEPING = new Set<Step["do"]>(["renew", "figures", "compare", "beat", "report", "leave"]);

export interface Change {
  readonly before: RoutingDump;
  readonly after: RoutingDump;
}

export function changeFaults(step: Step, uid: string, { before, after }: Change): string[] {
  return [
    ...integralFaults(before, after),
    ...grantFaults(step, before, after),
    ...orderFaults(before, after),
    ...(SWEEPING.has(step.do) ? [] : strangerFaults(uid, before, after)),
  ];
}

/** The integral grows by what stood between the two times. */
function integralFaults(before: RoutingDump, after: RoutingDump): string[] {
  const of = (dump: RoutingDump, name: string): number => Number(dump.meta.get(name) ?? 0);
  const expected =
    of(before, "integral") + (of(after, "at") - of(before, "at")) * before.requests.size;
  const actual = of(after, "integral");
  return actual === expected ? [] : [`integral is ${actual}, should be ${expected}`];
}

/** I1 and I4: only targets that may serve get leases, and never beyond their capacity. */
function grantFaults(step: Step, before: RoutingDump, after: RoutingDump): string[] {
  // What is put back runs already, whatever the state and capacity.
  if (step.do === "reassert") return [];
  return [...after.requests].flatMap(([id, request]) => {
    if (request.kind !== "lease" || before.requests.get(id)?.kind === "lease") return [];
    const target = after.targets.get(request.uid);
    if (target === undefined || (target.state !== "ready" && target.state !== "suspected")) {
      return [`${id} was given ${request.uid}, which is ${target?.state}`];
    }
    const most = target.capacity + placesOf(after);
    const isOver = target.capacity > 0 && target.inFlight > most;
    return isOver ? [`${request.uid} has ${target.inFlight} of ${most}`] : [];
  });
}

/** In a ranked queue a single slot goes to whom the order, the tenants' turns and the limit name. */
function rankedFaults(before: RoutingDump, after: RoutingDump): string[] {
  if (!isSettled(before, after)) return [];
  const [id, ...more] = before.queue.filter((each) => after.requests.get(each)?.kind !== "ticket");
  const lease = after.requests.get(id ?? "");
  if (id === undefined || more.length > 0 || lease?.kind !== "lease") return [];
  if (knowsRoom(before, lease.uid) || knowsRoom(after, lease.uid)) return [];
  const expected = nextRanked(before, lease.uid, Number(after.meta.get("at")));
  return expected === id ? [] : [`${id} was served, should be ${expected}`];
}

/** The queue was ranked under one order, and all of it. */
function isSettled({ meta }: RoutingDump, after: RoutingDump): boolean {
  const isRanked = meta.get("ranked") === "1" && meta.get("rekey") !== "1";
  return isRanked && meta.get("order") === after.meta.get("order");
}

/** What a step itself said of its KV room, the dump before it does not know. */
function knowsRoom(dump: RoutingDump, uid: string): boolean {
  return (dump.targets.get(uid)?.kvFree ?? -1) >= 0;
}

/** A slot goes to the first in the queue that lives and may use it. */
function orderFaults(before: RoutingDump, after: RoutingDump): string[] {
  if (before.meta.get("ranked") === "1" || after.meta.get("ranked") === "1") {
    return rankedFaults(before, after);
  }
  return before.queue.flatMap((id, position) => {
    const ticket = before.requests.get(id);
    const granted = after.requests.get(id);
    if (granted?.kind !== "lease" || ticket?.kind !== "ticket") return [];
    const { uid } = granted;
    if (ticket.exclude.includes(uid)) return [`${id} was given ${uid}, which it excludes`];
    if (!isAlive(after, ticket.holder) && !isHeldBack(after)) {
      return [`${id} was served although ${ticket.holder} is gone`];
    }
    const passed = before.queue.slice(0, position).find((earlier) => {
      const other = after.requests.get(earlier);
      if (other?.kind !== "ticket" || other.exclude.includes(uid)) return false;
      if ((other.rank?.tokens ?? 0) > 0) return false;
      return isAlive(after, other.holder);
    });
    return passed === undefined ? [] : [`${id} was served before ${passed}`];
  });
}

function isAlive(dump: RoutingDump, activatorId: string): boolean {
  return (dump.activators.get(activatorId) ?? 0) > Number(dump.meta.get("clock") ?? 0);
}

/** After a gap in time nobody counts as gone. */
function isHeldBack(dump: RoutingDump): boolean {
  return Number(dump.meta.get("at") ?? 0) < Number(dump.meta.get("hold") ?? 0);
}

/** A step about one target changes the state of no other. */
function strangerFaults(own: string, before: RoutingDump, after: RoutingDump): string[] {
  return [...after.targets].flatMap(([uid, target]) => {
    const old = before.targets.get(uid);
    if (uid === own || old === undefined || old.state === target.state) return [];
    // The last lease of a draining target ends its time.
    if (old.state === "draining" && target.state === "deleted") return [];
    return [`${uid} went from ${old.state} to ${target.state} by a step about others`];
  });
}

function byName<T>(entries: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1));
}
