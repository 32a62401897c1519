/** Binding of `lua/acquire-lease.lua`; its reply is also that of `ask-ticket`. */
import { REQUEST_KEYS, flag } from "./binding.ts";
import type { Binding, Reply } from "./binding.ts";
import type { AcquireRequest, AcquireResult } from "../types.ts";

/** Exclusions sent at most: the latest. Earlier ones are out of the index by their own failure. */
const MOST_EXCLUDED = 32;

type PlainArgs = readonly [leaseId: string, activatorId: string, random: string];
type MoreArgs = readonly [arrivedAt: string, mayWait: string, exclude: string];

/** Each argument costs the server as much as a tenth of a command: usual values are left out. */
export function acquireArgs(request: AcquireRequest): PlainArgs | [...PlainArgs, ...MoreArgs] {
  const { leaseId, activatorId, random, arrivedAt, mayWait, exclude } = request;
  const args = [leaseId, activatorId, `${random[0]} ${random[1]}`] as const;
  if (arrivedAt === 0 && mayWait && exclude.length === 0) return args;
  const latest = exclude.slice(-MOST_EXCLUDED).join(" ");
  return [...args, String(arrivedAt), flag(mayWait), latest];
}

export const acquireLease: Binding<AcquireRequest, AcquireResult> = {
  script: "acquire-lease",
  keys: REQUEST_KEYS,
  args: ["leaseId", "activatorId", "random", "arrivedAt", "mayWait", "exclude", "now"],
  encode: (request, { now }) => {
    const args = acquireArgs(request);
    if (now === "0") return [...args];
    return args.length === 3 ? [...args, "0", "1", "", now] : [...args, now];
  },
  decode: (reply, { leaseId }) => decodeAcquire(reply, leaseId),
};

/** Values of each shape of the reply, with its status word. */
export const ACQUIRE_REPLY_LENGTHS: ReadonlyMap<string, number> = new Map([
  ["leased", 5],
  ["waiting", 4],
  ["queue-full", 2],
]);

export function decodeAcquire(reply: Reply, leaseId: string): AcquireResult {
  switch (reply.status) {
    case "no-slot":
      return { kind: "no-slot" };
    case "queue-full":
      return { kind: "queue-full", retryAfterMs: Math.max(1_000, reply.number(1)) };
    case "unknown-revision":
      return { kind: "unknown-revision" };
    default:
      return decodeRequest(reply, leaseId);
  }
}

/** `leased` or `waiting`. */
export function decodeRequest(reply: Reply, leaseId: string): AcquireResult {
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
