/** Binding of `lua/acquire-lease.lua`; its reply is also that of `ask-ticket`. */
import { REQUEST_KEYS, flag } from "./binding.ts";
import type { Binding, Reply } from "./binding.ts";
import type {
  AcquireRequest,
  AcquireResult,
  BatchWeights,
  CallDetails,
  CallPlan,
  Lease,
  OwnObjective,
  WarmTargets,
} from "../types.ts";

/** Exclusions sent at most: the latest. Earlier ones are out of the index by their own failure. */
const MOST_EXCLUDED = 32;

type PlainArgs = readonly [leaseId: string, activatorId: string, random: string];
type MoreArgs = readonly [arrivedAt: string, mayWait: string, exclude: string, call: string];

/** Each argument costs the server as much as a tenth of a command: usual values are left out. */
export function acquireArgs(request: AcquireRequest): PlainArgs | [...PlainArgs, ...MoreArgs] {
  const { leaseId, activatorId, random, arrivedAt, mayWait, exclude, call } = request;
  const args = [leaseId, activatorId, `${drawText(random[0])} ${drawText(random[1])}`] as const;
  if (call === undefined && arrivedAt === 0 && mayWait && exclude.length === 0) return args;
  const latest = exclude.slice(-MOST_EXCLUDED).join(" ");
  const details = call === undefined ? "" : encodeDetails(call);
  return [...args, String(arrivedAt), flag(mayWait), latest, details];
}

/** Nine digits of a number in [0, 1), from a table: as text a fraction costs more than the rest of a step. */
function drawText(value: number): string {
  const digits = Math.min(Math.round(value * 1e9), 999_999_999);
  const millions = Math.floor(digits / 1_000_000);
  const thousands = Math.floor(digits / 1_000) % 1_000;
  return `0.${THOUSAND[millions]}${THOUSAND[thousands]}${THOUSAND[digits % 1_000]}`;
}

const THOUSAND = Array.from({ length: 1_000 }, (_, index) => String(index).padStart(3, "0"));

/** Between the parts of a call, and behind each name and number of its estimates. */
const PART = "\u0002";
const ENTRY = "\u0001";
/** Before the session, behind all else. */
const SESSION = "\u0003";
const SEPARATORS = /\p{Cc}/gu;

/** A name from outside never reaches into the next field. */
const plainName = (name: string): string => name.replaceAll(SEPARATORS, "_");

const within = (value: number, from: number, to: number): string =>
  String(Math.max(from, Math.min(to, value)));

function encodeDetails(call: CallDetails): string {
  const { plan, priority = 0, tenant, promptTokens = 0, rejectLate = false } = call;
  return (
    [
      plan === undefined ? "" : encodePlan(plan),
      within(Math.trunc(priority), -8, 7),
      plainName(tenant?.name ?? ""),
      within(tenant?.weight ?? 1, 0.001, 1_000),
      String(Math.max(0, Math.round(promptTokens))),
      flag(rejectLate),
      encodeWorks(call.workUs, call.weights),
      ...(call.warm ?? []).map(encodeWarm),
    ].join(PART) + encodeSession(call.session)
  );
}

function encodeSession(session: CallDetails["session"]): string {
  if (session === undefined) return "";
  return `${SESSION}${session.affinity === "strict" ? "t" : "s"}${plainName(session.id)}`;
}

function encodeWarm({ targetUids, workUs, weights }: WarmTargets): string {
  return `${targetUids.map(plainName).join(" ")}${ENTRY}${encodeWorks(workUs, weights)}`;
}

function encodeWorks(workUs: CallDetails["workUs"], weights: CallDetails["weights"]): string {
  let works = "";
  for (const [profile, us] of workUs ?? []) {
    const weight = weights?.get(profile);
    const beside = weight === undefined ? "" : encodeWeights(weight);
    works += `${plainName(profile)}${ENTRY}${Math.max(1, Math.round(us))}${beside}${ENTRY}`;
  }
  return works;
}

function encodeWeights({ soloUs, logEngineUs, meanLogSpeed, wayUs }: BatchWeights): string {
  return ` ${soloUs} ${logEngineUs} ${meanLogSpeed} ${wayUs}`;
}

function encodePlan(plan: CallPlan | OwnObjective): string {
  if ("sloUs" in plan) return `${plan.sloUs} ${plan.restUs}`;
  const { readyAt, budgetUs, deadlineAt, restUs, workflowArrivedAt } = plan;
  return `${readyAt} ${budgetUs} ${deadlineAt} ${restUs} ${workflowArrivedAt}`;
}

export const acquireLease: Binding<AcquireRequest, AcquireResult> = {
  script: "acquire-lease",
  keys: REQUEST_KEYS,
  args: ["leaseId", "activatorId", "random", "arrivedAt", "mayWait", "exclude", "call", "now"],
  encode: (request, { now }) => {
    const args = acquireArgs(request);
    if (now === "0") return [...args];
    return args.length === 3 ? [...args, "0", "1", "", "", now] : [...args, now];
  },
  decode: (reply, { leaseId }) => decodeAcquire(reply, leaseId),
};

/** Values of each shape of the reply, with its status word. */
export const ACQUIRE_REPLY_LENGTHS: ReadonlyMap<string, number> = new Map([
  ["leased", 5],
  ["ranked", 8],
  ["waiting", 4],
  ["queue-full", 2],
]);

export function decodeAcquire(reply: Reply, leaseId: string): AcquireResult {
  switch (reply.status) {
    case "no-slot":
      return { kind: "no-slot" };
    case "deadline-unreachable":
      return { kind: "deadline-unreachable" };
    case "session-lost":
      return { kind: "session-lost" };
    case "queue-full":
      return { kind: "queue-full", retryAfterMs: Math.max(1_000, reply.number(1)) };
    case "unknown-revision":
      return { kind: "unknown-revision" };
    default:
      return decodeRequest(reply, leaseId);
  }
}

/** `leased`, `ranked` or `waiting`. */
export function decodeRequest(
  reply: Reply,
  leaseId: string,
): Extract<AcquireResult, { readonly kind: "leased" | "waiting" }> {
  if (reply.status === "leased") {
    const lease = {
      leaseId,
      targetUid: reply.text(1),
      address: reply.text(2),
      arrivedAt: reply.number(3),
      grantedAt: reply.number(4),
    };
    return { kind: "leased", lease };
  }
  if (reply.status === "ranked") return { kind: "leased", lease: decodeRanked(reply, leaseId) };
  if (reply.status === "waiting") {
    return {
      kind: "waiting",
      arrivedAt: reply.number(1),
      readyTargets: reply.number(2),
      waiting: reply.number(3),
    };
  }
  throw reply.unexpected();
}

/** A class that is none says that the lease has no order. */
function decodeRanked(reply: Reply, leaseId: string): Lease {
  const orderClass = reply.number(5);
  return {
    leaseId,
    targetUid: reply.text(1),
    address: reply.text(2),
    arrivedAt: reply.number(3),
    grantedAt: reply.number(4),
    ...(orderClass === 0 || orderClass === 1
      ? { order: { orderClass, keyUs: reply.number(6) } }
      : {}),
    workUs: reply.number(7),
  };
}
