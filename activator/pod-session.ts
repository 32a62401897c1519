/**
 * One pod that pushes to this activator: who it is, its connection, the last thing it said, and
 * what it must hear with the next reply.
 */
import type { Socket } from "node:net";
import type { PushReply, PushReport } from "../common/contracts/push.ts";
import type { ReportResult } from "../store/types.ts";
import type { PodFacts } from "./pod-identity.ts";
import type { RevisionEntry } from "./revision-entry.ts";

export class PodSession {
  readonly facts: PodFacts;
  readonly entry: RevisionEntry;
  /** The connection of the latest push; undefined once it closed. */
  socket: Socket | undefined;
  lastReport: PushReport | undefined;
  pushedAt: number;
  saidGoodbye = false;
  /** Runs from the loss of the connection until it counts as lost for good. */
  lostTimer: NodeJS.Timeout | undefined;
  #ackBoot = 0;
  #ackSequence = 0;
  #ask: readonly string[] = [];
  #drainAcknowledged = false;

  constructor(facts: PodFacts, entry: RevisionEntry, now: number) {
    this.facts = facts;
    this.entry = entry;
    this.pushedAt = now;
  }

  /** What the store made of a report. */
  stored(result: ReportResult): void {
    this.#ackBoot = result.bootOnRecord;
    this.#ackSequence = result.sequenceOnRecord;
    this.#ask = result.ask;
    const isGone = result.state === "draining" || result.state === "deleted";
    this.#drainAcknowledged = isGone && result.idle;
  }

  reply(report: PushReport, heartbeatMs: number): PushReply {
    // A heartbeat is stored a little later; it is on record for whoever sent it.
    const isNewest = report.boot === this.#ackBoot && report.sequence > this.#ackSequence;
    const isFirst = this.#ackBoot === 0;
    return {
      ackBoot: isFirst ? report.boot : this.#ackBoot,
      ackSequence: isNewest || isFirst ? report.sequence : this.#ackSequence,
      heartbeatMs,
      localQueue: this.entry.config?.localQueue ?? 0,
      drainAcknowledged: this.#drainAcknowledged,
      // What was answered just now is asked again with the next heartbeat, not at full speed.
      ask: this.#ask.filter((leaseId) => !report.asked.includes(leaseId)),
    };
  }

  get marks(): NonNullable<PushReport["marks"]> {
    return { ...this.lastReport?.marks, ...definedOnly(this.facts.marks) };
  }
}

function definedOnly(marks: PodFacts["marks"]): PodFacts["marks"] {
  return Object.fromEntries(Object.entries(marks).filter(([, at]) => at !== undefined));
}
