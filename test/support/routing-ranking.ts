/**
 * The model of what ranks and weighs: which target a call should get by speed, in which order those
 * that wait are served, and what their records must say. Written over whole dumps with the product's
 * pure rules, so that the scripts' indexes are compared with definitions.
 */
import type { Candidate } from "../../activator/core/choose-target.ts";
import type { LoadBalancingPolicy, QueueOrder } from "../../common/contracts/routing.ts";
import { chooseByWorkBalance } from "../../common/hexgen/dispatch.ts";
import { isHopeless } from "../../common/urgency.ts";
import type { AcquireRequest, CallDetails } from "../../store/types.ts";
import type { RoutingDump, TargetDump, TicketDump, TicketRank } from "./routing-dump.ts";
import { freeSlots, placesOf, runSlots } from "./routing-invariants.ts";
import type { CallStep } from "./routing-steps.ts";

export const STARVATION_LIMIT_MS = 4_000;
const US_PER_MS = 1_000;
const USUAL_WORK_US = 1_000_000;
const ALPHA = 0.3;
const ORDERS: readonly QueueOrder[] = ["fifo", "urgency", "pq", "edf_wf", "wfifo"];

const inUs = (workMs: Readonly<Record<string, number>>): Map<string, number> =>
  new Map(Object.entries(workMs).map(([card, ms]) => [card, ms * US_PER_MS]));

/** A call as it is sent, with the instants of now. */
export function callDetails(
  step: CallStep,
  nowUs: number,
  uidOf: (pod: number) => string,
): CallDetails {
  const sloUs = step.sloMs * US_PER_MS;
  const restUs = step.restMs * US_PER_MS;
  const beganUs = nowUs - (step.beganMsAgo ?? 0) * US_PER_MS;
  const plan =
    step.beganMsAgo === undefined
      ? { sloUs, restUs }
      : {
          readyAt: nowUs,
          budgetUs: sloUs / 3,
          deadlineAt: sloUs === 0 ? 0 : beganUs + sloUs,
          restUs,
          workflowArrivedAt: beganUs,
        };
  const workUs = inUs(step.workMs);
  const warm = (step.warm ?? []).map(({ pods, workMs }) => ({
    targetUids: pods.map(uidOf),
    workUs: inUs(workMs),
  }));
  return {
    plan,
    priority: step.priority,
    tenant: { name: step.tenant, weight: step.tenant === "tb" ? 2 : 1 },
    promptTokens: step.promptTokens,
    ...(workUs.size === 0 ? {} : { workUs }),
    ...(warm.length === 0 ? {} : { warm }),
  };
}

/** Targets that a policy chooses among, the best group first. */
export function bandsOf(
  dump: RoutingDump,
  policy: LoadBalancingPolicy,
): readonly (readonly Candidate[])[] {
  const places = placesOf(dump);
  const all = [...dump.targets].map(([uid, target]) =>
    Object.assign({ uid, freeSlots: freeSlots(target, places) }, target),
  );
  // The index by load has no group of its own for places: those have more in flight.
  const isGrouped = policy !== "min-connections";
  return ["ready", "suspected"].flatMap((state) => {
    const usable = all.filter((target) => target.state === state);
    if (!isGrouped) return [usable];
    return [
      usable.filter((target) => runSlots(target) > 0),
      usable.filter((target) => runSlots(target) <= 0),
    ];
  });
}

/** Profiles by number, as the revision has met them. */
function profilesOf(dump: RoutingDump): readonly string[] {
  return (dump.meta.get("profiles") ?? "").split("\u0001").slice(0, -1);
}

export function workOn(
  dump: RoutingDump,
  target: TargetDump,
  works: ReadonlyMap<string, number> | undefined,
): number {
  const given = [...(works ?? new Map<string, number>()).values()];
  const sum = given.reduce((total, work) => total + work, 0);
  const usual = given.length === 0 ? USUAL_WORK_US : Math.floor(sum / given.length + 0.5);
  return works?.get(profilesOf(dump)[target.profile] ?? "?") ?? usual;
}

export function fastestTarget(dump: RoutingDump, request: AcquireRequest): string | undefined {
  const places = placesOf(dump);
  const tokens = request.call?.promptTokens ?? 0;
  const warmth = (uid: string): ReadonlyMap<string, number> | undefined =>
    request.call?.warm?.find(({ targetUids }) => targetUids.includes(uid))?.workUs;
  const free = [...dump.targets].filter(([, target]) => freeSlots(target, places) > 0);
  const ready = free.filter(([, target]) => target.state === "ready");
  const considered = (ready.length > 0 ? ready : free).map(([uid, target]) => ({
    uid,
    ordinal: target.admission,
    profile: target.profile,
    serviceUs: workOn(dump, target, request.call?.workUs),
    warmServiceUs: warmth(uid) && workOn(dump, target, warmth(uid)),
    outstandingUs: target.workUs,
    canTake: !request.exclude.includes(uid) && (target.kvFree < 0 || target.kvFree >= tokens),
  }));
  return chooseByWorkBalance(considered, ALPHA)?.uid;
}

export const orderOf = (dump: RoutingDump): QueueOrder =>
  ORDERS[Number(dump.meta.get("order") ?? 1) - 1] ?? "fifo";

interface Waiting {
  readonly id: string;
  readonly ticket: TicketDump;
  readonly rank: TicketRank;
  readonly position: number;
}

/** Who must get the next slot of a target when the queue is ranked and nobody is being ranked anew. */
export function nextRanked(dump: RoutingDump, uid: string, nowUs: number): string | undefined {
  const target = dump.targets.get(uid);
  const fits = ({ ticket, rank }: Waiting): boolean =>
    !ticket.exclude.includes(uid) &&
    (target === undefined || target.kvFree < 0 || target.kvFree >= rank.tokens);
  const waiting = dump.queue.flatMap((id, position): Waiting[] => {
    const ticket = dump.requests.get(id);
    if (ticket?.kind !== "ticket" || ticket.rank === undefined) return [];
    return [{ id, ticket, rank: classified(dump, ticket.rank, nowUs), position }];
  });
  const limitUs = Number(dump.meta.get("limit") ?? 0);
  const starved = waiting.find(
    (each) => limitUs > 0 && nowUs - each.ticket.arrivedAt > limitUs && fits(each),
  );
  if (starved !== undefined) return starved.id;
  return servingOrder(dump, waiting).find(fits)?.id;
}

/** Class and key as of now: a call that cannot be met any more stands among the lost ones. */
function classified(dump: RoutingDump, rank: TicketRank, nowUs: number): TicketRank {
  const isLost = rank.deadlineAt > 0 && isHopeless(nowUs, rank.deadlineAt, rank.rest);
  if (orderOf(dump) !== "urgency" || rank.orderClass === 1 || !isLost) return rank;
  return { ...rank, orderClass: 1, key: Math.floor(rank.rest + 0.5) };
}

function servingOrder(dump: RoutingDump, waiting: readonly Waiting[]): readonly Waiting[] {
  const isShared = dump.meta.get("shared") === "1";
  const turns = isShared ? [...dump.tenants.keys()] : [undefined];
  const ofClass = (orderClass: number): Waiting[] =>
    turns.flatMap((tenant) =>
      waiting
        .filter(({ rank }) => rank.orderClass === orderClass)
        .filter(({ rank }) => tenant === undefined || rank.tenant === tenant)
        .toSorted(byRank),
    );
  const [meetable, lost] = [ofClass(0), ofClass(1)];
  const tenants = new Set(meetable.map(({ rank }) => rank.tenant));
  const isTurn = orderOf(dump) === "urgency" && Number(dump.meta.get("share") ?? 0) >= 7;
  const mayPass = meetable.length > 0 && tenants.size === 1;
  const due =
    isTurn && (mayPass || !isShared)
      ? lost.filter(({ rank }) => !isShared || tenants.has(rank.tenant))
      : [];
  return [...due, ...meetable, ...lost];
}

/** Without tenants' turns, names of tenants stand before keys as they do in the queue. */
function byRank(one: Waiting, other: Waiting): number {
  return (
    compareText(one.rank.tenant, other.rank.tenant) ||
    other.rank.level - one.rank.level ||
    one.rank.key - other.rank.key ||
    one.position - other.position
  );
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
