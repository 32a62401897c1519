/**
 * One pod that pushes to this activator: who it is, its connection, the last thing it said, and
 * what it must hear with the next reply.
 */
import type { Socket } from "node:net";
import type { PushReply, PushReport } from "../common/contracts/push.ts";
import type { ReportResult } from "../store/types.ts";
import type { PodClaim, PodFacts } from "./core/pod-facts.ts";
import type { RevisionEntry } from "./revision-entry.ts";

/** While the kubelet still has to say that the pod is Ready. */
const GATE_REREAD_MS = 900;
/** A pod whose exec probe may fail again, and what was borrowed while the API server was away. */
const WATCH_REREAD_MS = 5_000;
const FIRST_ADDRESS_REREAD_MS = 2_000;
const LAST_ADDRESS_REREAD_MS = 60_000;

export class PodSession {
  readonly claim: PodClaim;
  readonly entry: RevisionEntry;
  /** The connection of the latest push; undefined once it closed. */
  socket: Socket | undefined;
  lastReport: PushReport | undefined;
  pushedAt: number;
  saidGoodbye = false;
  /** Why nothing more is taken from it; empty while all is well. */
  refusal = "";
  /** Runs from the loss of the connection until it counts as lost for good. */
  lostTimer: NodeJS.Timeout | undefined;
  #facts: PodFacts;
  #wasReady = false;
  #rereads = 0;
  #rereadAt: number;
  #storedState = "";
  #ackBoot = 0;
  #ackSequence = 0;
  #ask: readonly string[] = [];
  #drainAcknowledged = false;

  constructor(pod: { claim: PodClaim; facts: PodFacts }, entry: RevisionEntry, now: number) {
    this.claim = pod.claim;
    this.#facts = pod.facts;
    this.entry = entry;
    this.pushedAt = now;
    this.#rereadAt = now + this.#pauseMs();
  }

  get facts(): PodFacts {
    return this.#facts;
  }

  /** The pod's object is to be read again now. */
  isDue(now: number): boolean {
    return now >= this.#rereadAt;
  }

  learn(facts: PodFacts, now: number): void {
    if (facts.revision !== this.#facts.revision) {
      this.refusal = `the pod belongs to ${facts.namespace}/${facts.revision}`;
    }
    const wasOpen = this.#facts.gate?.isOpen === true && facts.gate?.until === "first";
    this.#facts = wasOpen ? { ...facts, gate: { until: "first", isOpen: true } } : facts;
    this.learnedNothing(now);
  }

  learnedNothing(now: number): void {
    this.#rereads += 1;
    this.#rereadAt = now + this.#pauseMs();
  }

  /** What counts of a report: its "ready" only once the kubelet's own probes have passed too. */
  effective(report: PushReport): PushReport {
    const { gate } = this.#facts;
    if (report.state !== "ready" || gate === undefined || gate.isOpen) {
      this.#wasReady ||= report.state === "ready";
      return report;
    }
    const state = this.#wasReady ? "unready" : "starting";
    return { ...report, state, reason: "the pod is not Ready yet: its own probes have to pass" };
  }

  /** The store has this state on record, so that a heartbeat need not say it again. */
  isOnRecord(report: PushReport): boolean {
    return this.#storedState === report.state;
  }

  /** What the store made of a report. */
  stored(report: PushReport, result: ReportResult): void {
    this.#storedState = report.state;
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
    const { config } = this.entry;
    return {
      ackBoot: isFirst ? report.boot : this.#ackBoot,
      ackSequence: isNewest || isFirst ? report.sequence : this.#ackSequence,
      heartbeatMs,
      localQueue: config?.localQueue ?? 0,
      ...(config?.activators === undefined ? {} : { activators: config.activators }),
      ...(config === null ? {} : { starvationLimitMs: config.starvationLimitMs }),
      drainAcknowledged: this.#drainAcknowledged,
      // What was answered just now is asked again with the next heartbeat, not at full speed.
      ask: this.#ask.filter((leaseId) => !report.asked.includes(leaseId)),
    };
  }

  get marks(): NonNullable<PushReport["marks"]> {
    return { ...this.lastReport?.marks, ...definedOnly(this.facts.marks) };
  }

  #pauseMs(): number {
    const { gate, isBorrowed, address } = this.#facts;
    if (gate !== undefined && !gate.isOpen) return GATE_REREAD_MS;
    if (gate?.until === "always" || isBorrowed === true) return WATCH_REREAD_MS;
    if (address !== "") return Number.POSITIVE_INFINITY;
    return Math.min(LAST_ADDRESS_REREAD_MS, FIRST_ADDRESS_REREAD_MS * 2 ** this.#rereads);
  }
}

function definedOnly(marks: PodFacts["marks"]): PodFacts["marks"] {
  return Object.fromEntries(Object.entries(marks).filter(([, at]) => at !== undefined));
}
