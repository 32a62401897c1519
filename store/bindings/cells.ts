/** Bindings of the scripts about several cells: digests, and the book of shares. */
import type { Binding } from "./binding.ts";

export interface DigestReading {
  /** Server time in us. */
  readonly at: number;
  readonly busy: number;
  readonly waiting: number;
  /** Of requests in flight and waiting, in request-us. */
  readonly integral: number;
  readonly arrivals: number;
  readonly ready: number;
  readonly starting: number;
  /** As the autoscaler wrote it; empty before it did. */
  readonly facts: string;
}

export const readDigest: Binding<void, DigestReading | null> = {
  script: "read-digest",
  keys: ["meta", "cell"],
  args: ["now"],
  encode: (_request, { now }) => [now],
  decode: (reply) =>
    reply.status === "ok"
      ? {
          at: reply.number(1),
          busy: reply.number(2),
          waiting: reply.number(3),
          integral: reply.number(4),
          arrivals: reply.number(5),
          ready: reply.number(6),
          starting: reply.number(7),
          facts: reply.text(8),
        }
      : null,
};

export interface ShareMessage {
  readonly cell: string;
  /** Larger than that of every earlier message of the cell about the service. */
  readonly number: number;
  readonly holds: number;
  readonly wants: number;
  /** Of the service as a whole; 0 for no limit. */
  readonly max: number;
  /** Cells of whom the book must know before it grants anything. */
  readonly mustHear: readonly string[];
}

export interface ShareReply {
  /** `old`: a later message was there before; `hearing`: nothing is granted yet. */
  readonly kind: "ok" | "old" | "hearing";
  readonly share: number;
  readonly numberOnRecord: number;
  /** Granted to all cells together. */
  readonly granted: number;
  readonly unheard: readonly string[];
}

export const settleShare: Binding<ShareMessage, ShareReply> = {
  script: "settle-share",
  keys: ["book"],
  args: ["cell", "number", "holds", "wants", "max", "missing"],
  encode: ({ cell, number, holds, wants, max, mustHear }) => [
    cell,
    String(number),
    String(holds),
    String(wants),
    String(max),
    mustHear.join(" "),
  ],
  decode: (reply) => {
    const { status } = reply;
    if (status !== "ok" && status !== "old" && status !== "hearing") throw reply.unexpected();
    return {
      kind: status,
      share: reply.number(1),
      numberOnRecord: reply.number(2),
      granted: reply.number(3),
      unheard: reply
        .text(4)
        .split(" ")
        .filter((name) => name !== ""),
    };
  },
};

/** Answers the pods that the cell held. */
export const forgetCell: Binding<{ readonly cell: string }, number> = {
  script: "forget-cell",
  keys: ["book"],
  args: ["cell"],
  encode: ({ cell }) => [cell],
  decode: (reply) => reply.number(1),
};
