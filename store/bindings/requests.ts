/** Bindings of the scripts that end, cancel, ask about and put back requests. */
import { ROUTING_KEYS } from "../keys.ts";
import type { AcquireRequest, AcquireResult, AskResult, HeldPage, Lease } from "../types.ts";
import {
  ACQUIRE_REPLY_LENGTHS,
  acquireArgs,
  decodeAcquire,
  decodeRequest,
} from "./acquire-lease.ts";
import { REQUEST_KEYS, STATE_KEYS } from "./binding.ts";
import type { Binding } from "./binding.ts";

/** As in `lua/include/layout.lua`. */
const NO_ORDER = 2;

/** A step of a batch: an acquire, or a release of one lease. */
export type RequestStep =
  | { readonly acquire: AcquireRequest }
  | { readonly release: { readonly leaseId: string; readonly outcome: string } };

interface RequestBatch {
  readonly activatorId: string;
  readonly steps: readonly RequestStep[];
}

/** One result per step, undefined for a release. */
export const serveRequests: Binding<RequestBatch, readonly (AcquireResult | undefined)[]> = {
  script: "serve-requests",
  keys: STATE_KEYS,
  args: ["now", "activatorId", "steps"],
  encode: ({ activatorId, steps }, { now }) => {
    const args = [now, activatorId];
    for (const step of steps) {
      if ("release" in step) args.push(step.release.outcome, step.release.leaseId);
      else pushAcquire(args, step.acquire);
    }
    return args;
  },
  decode: (reply, { steps }) => {
    const isKnown = reply.status !== "unknown-revision";
    const now = isKnown ? reply.number(1) : 0;
    let from = 2;
    return steps.map((step) => {
      if ("release" in step) return undefined;
      if (!isKnown) return { kind: "unknown-revision" };
      const { leaseId } = step.acquire;
      const first = reply.text(from);
      const space = first.indexOf(" ");
      if (space !== -1) {
        from += 1;
        const targetUid = first.slice(0, space);
        const address = first.slice(space + 1);
        return {
          kind: "leased",
          lease: { leaseId, targetUid, address, arrivedAt: now, grantedAt: now },
        };
      }
      const part = reply.part(from, ACQUIRE_REPLY_LENGTHS.get(first) ?? 1);
      from += part.length;
      return decodeAcquire(part, leaseId);
    });
  },
};

function pushAcquire(args: string[], request: AcquireRequest): void {
  const [leaseId, , random, ...more] = acquireArgs(request);
  args.push(more.length === 0 ? "acquire" : "acquire-more", leaseId, random);
  for (const arg of more) args.push(arg);
}

export const releaseLease: Binding<{ leaseId: string; outcome: string }, void> = {
  script: "release-lease",
  keys: STATE_KEYS,
  args: ["leaseId", "outcome", "now"],
  encode: ({ leaseId, outcome }, { now }) =>
    now === "0" ? [leaseId, outcome] : [leaseId, outcome, now],
  decode: () => undefined,
};

/** True: it does not wait any more. False: it has a slot. */
export const cancelTicket: Binding<{ leaseId: string }, boolean> = {
  script: "cancel-ticket",
  keys: REQUEST_KEYS,
  args: ["leaseId", "now"],
  encode: ({ leaseId }, { now }) => [leaseId, now],
  decode: (reply) => reply.status !== "leased",
};

export const askTicket: Binding<{ leaseId: string }, AskResult> = {
  script: "ask-ticket",
  keys: ROUTING_KEYS.slice(0, 7),
  args: ["leaseId", "now"],
  encode: ({ leaseId }, { now }) => [leaseId, now],
  decode: (reply, { leaseId }) => {
    if (reply.status === "gone") return { kind: "gone" };
    if (reply.status === "session-lost") return { kind: "session-lost" };
    if (reply.status === "unknown-revision") return { kind: "unknown-revision" };
    return decodeRequest(reply, leaseId);
  },
};

export const listHeld: Binding<{ activatorId: string; cursor: string }, HeldPage> = {
  script: "list-held",
  keys: ["meta", "requests"],
  args: ["activatorId", "cursor"],
  encode: ({ activatorId, cursor }) => [activatorId, cursor],
  decode: (reply) => ({ cursor: reply.text(1), ids: reply.texts(2) }),
};

/** Work, class and key of a lease that has them. */
function encodeRank({ workUs, order }: Lease): string {
  if (workUs === undefined && order === undefined) return "";
  return `${workUs ?? 0} ${order?.orderClass ?? NO_ORDER} ${order?.keyUs ?? 0}`;
}

export const reassertLeases: Binding<{ activatorId: string; leases: readonly Lease[] }, void> = {
  script: "reassert-leases",
  keys: STATE_KEYS,
  args: ["activatorId", "now", "leases"],
  encode: ({ activatorId, leases }, { now }) => [
    activatorId,
    now,
    ...leases.flatMap((lease) => [
      lease.leaseId,
      lease.targetUid,
      lease.address,
      String(lease.arrivedAt),
      String(lease.grantedAt),
      encodeRank(lease),
    ]),
  ],
  decode: () => undefined,
};
