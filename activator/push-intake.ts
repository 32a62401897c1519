/**
 * What queue-proxies push: each report is held against what the token proves and the pod's record
 * says, then stored at once or, as a heartbeat, with the next batch. A connection that ends without
 * a goodbye and is not replaced in time makes its pod suspected.
 */
import type { Socket } from "node:net";
import type { Clock } from "../common/clock.ts";
import type { PushReply, PushReport } from "../common/contracts/push.ts";
import type { StartMarks } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";
import { withoutMapping } from "../common/peer-address.ts";
import type { Logger } from "../foundation/logger.ts";
import type { ReportResult, RoutingStore } from "../store/types.ts";
import type { CallLog } from "./call-log.ts";
import type { DegradedMode } from "./degraded.ts";
import { Heartbeats } from "./heartbeats.ts";
import type { PodClaim, PodIdentity } from "./pod-identity.ts";
import { PodRegister } from "./pod-register.ts";
import { PodSession } from "./pod-session.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Revisions } from "./revisions.ts";

/** Time for a sidecar to come back on another connection (semantics: suspected after 500 ms). */
const REPLACE_MS = 500;
/** A session without a connection is kept this long, so that its pod is probed meanwhile. */
const FORGET_MS = 30_000;
/** One heartbeat per second up to 10,000 targets, then slower. */
const TARGETS_PER_SECOND = 10_000;
const MIN_HEARTBEAT_MS = 1_000;
/** In a reply: pods spread over all of them. */
const ALL_ACTIVATORS = 0;
/** After so many a target is suspected. */
const MISSED_HEARTBEATS = 3;

export interface PushIntakeOptions {
  readonly store: RoutingStore;
  readonly revisions: Revisions;
  readonly identity: PodIdentity;
  /** Without a store pushes are only remembered. */
  readonly degraded: DegradedMode;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Requests may enter at every activator, also at those that do not serve the revision: without a
   * store each of them needs pods of its own. Default: an ingress leads to those that do.
   */
  readonly entersAnywhere?: boolean;
  /** Where what pods measured goes; null where nothing is learnt. */
  readonly callLog?: CallLog | null;
}

export interface ReceivedPush {
  readonly token: string;
  readonly report: PushReport;
  readonly socket: Socket;
}

export class PushIntake {
  readonly heartbeats: Heartbeats;
  readonly #options: PushIntakeOptions;
  readonly #register: PodRegister;
  readonly #sessions = new Map<string, PodSession>();
  readonly #claims = new WeakMap<Socket, { readonly token: string; readonly claim: PodClaim }>();
  #closing = false;

  constructor(options: PushIntakeOptions) {
    this.#options = options;
    this.#register = new PodRegister(options);
    const { store, logger } = options;
    const mustReport = (uid: string): void => void this.#reportAgain(uid);
    this.heartbeats = new Heartbeats({ store, logger, mustReport });
  }

  /** Pods that push here. */
  get pods(): number {
    return this.#sessions.size;
  }

  marksOf(podUid: string): StartMarks | undefined {
    return this.#sessions.get(podUid)?.marks;
  }

  /** Rejects with a PlatformError that says whose fault it is. */
  async receive(push: ReceivedPush): Promise<PushReply> {
    const { report, socket } = push;
    const claim = await this.#claimOf(push);
    if (claim.uid !== report.podUid) throw refused("the token is bound to another pod");
    const source = withoutMapping(socket.remoteAddress ?? "");
    const session = await this.#sessionOf(claim, report, source);
    checkReport(session, report, source);
    const effective = session.effective(report);
    this.#attach(session, effective, socket);
    await this.#take(session, effective);
    if (report.kind === "goodbye") this.#drop(session);
    const reply = session.reply(report, this.#heartbeatMs());
    const { entersAnywhere = false, degraded } = this.#options;
    return entersAnywhere && degraded.has(session.entry)
      ? { ...reply, activators: ALL_ACTIVATORS }
      : reply;
  }

  /** Pods of one revision that push here. */
  *podsOf(entry: RevisionEntry): Iterable<PodSession> {
    for (const uid of entry.pods) {
      const session = this.#sessions.get(uid);
      if (session !== undefined) yield session;
    }
  }

  /** A pod of the revision lost its connection, or is silent: the store may want it probed. */
  hasDoubt(entry: RevisionEntry): boolean {
    const silentAt = this.#options.clock.now() - MISSED_HEARTBEATS * this.#heartbeatMs();
    for (const { socket, pushedAt } of this.podsOf(entry)) {
      if (socket === undefined || pushedAt < silentAt) return true;
    }
    return false;
  }

  /** What the store may have missed, or lost. */
  async reportAll(entry: RevisionEntry): Promise<void> {
    await Promise.all([...entry.pods].map((uid) => this.#reportAgain(uid)));
  }

  /** Forgets pods that do not come back; called each second. */
  tick(): void {
    const now = this.#options.clock.now();
    for (const session of this.#sessions.values()) {
      if (session.socket === undefined && now - session.pushedAt > FORGET_MS) this.#drop(session);
      else if (session.isDue(now)) void this.#reread(session);
    }
  }

  close(): void {
    this.#closing = true;
    this.heartbeats.stop();
    for (const session of this.#sessions.values()) clearTimeout(session.lostTimer);
  }

  async #take(session: PodSession, report: PushReport): Promise<void> {
    const { degraded, revisions } = this.#options;
    const { entry } = session;
    if (degraded.has(entry)) return degraded.freed(entry);
    this.#logSamples(session, report);
    if (isQuiet(report) && session.isOnRecord(report)) {
      const { podUid, boot, sequence } = report;
      this.heartbeats.add(entry, { podUid, boot, sequence });
    } else {
      await this.#store(session, report);
    }
    // The reply carries a live setting; read once, then kept fresh with the revision.
    if (entry.config === null) await revisions.load(entry);
  }

  #logSamples({ entry, facts }: PodSession, { samples = [] }: PushReport): void {
    const { callLog } = this.#options;
    for (const sample of samples) {
      callLog?.add(entry.key, { ...sample, kind: "sample", card: facts.card });
    }
  }

  async #claimOf({ token, socket }: ReceivedPush): Promise<PodClaim> {
    const known = this.#claims.get(socket);
    if (known?.token === token && known.claim.expiresAt > this.#options.clock.now()) {
      return known.claim;
    }
    const claim = await this.#options.identity.verifyToken(token);
    this.#claims.set(socket, { token, claim });
    return claim;
  }

  async #sessionOf(claim: PodClaim, report: PushReport, source: string): Promise<PodSession> {
    const known = this.#sessions.get(claim.uid);
    if (known !== undefined) return known;
    const facts = await this.#register.find(claim, report, source);
    const raced = this.#sessions.get(claim.uid);
    if (raced !== undefined) return raced;
    const entry = this.#options.revisions.use(`${facts.namespace}/${facts.revision}`);
    const session = new PodSession({ claim, facts }, entry, this.#options.clock.now());
    this.#sessions.set(claim.uid, session);
    entry.pods.add(claim.uid);
    return session;
  }

  /** What the platform says now must agree with what was believed; else the target goes. */
  async #reread(session: PodSession): Promise<void> {
    await this.#register.reread(session);
    const { facts, lastReport, entry, refusal } = session;
    const address = withoutMapping(lastReport?.address ?? "");
    const moved = facts.address !== "" && lastReport !== undefined && facts.address !== address;
    if (moved) session.refusal = `the pod's address is ${facts.address}, not ${address}`;
    if (session.refusal === "" || session.refusal === refusal) return;
    const { store, logger } = this.#options;
    logger.warn("pod is not what it said", { pod: facts.uid, reason: session.refusal });
    await store
      .removeTarget(entry.key, facts.uid, session.refusal)
      .catch((error: unknown) => logger.warn("target not removed", { pod: facts.uid, error }));
  }

  #attach(session: PodSession, report: PushReport, socket: Socket): void {
    clearTimeout(session.lostTimer);
    session.lostTimer = undefined;
    session.pushedAt = this.#options.clock.now();
    session.lastReport = report;
    if (session.socket === socket) return;
    session.socket = socket;
    socket.once("close", () => this.#disconnected(session, socket));
  }

  #disconnected(session: PodSession, socket: Socket): void {
    if (session.socket !== socket) return;
    session.socket = undefined;
    if (session.saidGoodbye || this.#closing) return;
    session.lostTimer = setTimeout(() => void this.#lost(session), REPLACE_MS);
  }

  /**
   * The same report once more changes nothing and tells what is on record: a later word means that
   * the pod speaks through another activator. It also takes the place of a heartbeat that still
   * waits in memory and would end the doubt that is raised here.
   */
  async #lost(session: PodSession): Promise<void> {
    const { store, logger } = this.#options;
    const { entry, facts, lastReport } = session;
    if (lastReport === undefined) return;
    try {
      const known = await this.#write(session, { ...lastReport, asked: [], running: [] });
      if (known.bootOnRecord > lastReport.boot) return;
      if (known.bootOnRecord === lastReport.boot && known.sequenceOnRecord > lastReport.sequence) {
        return;
      }
      await store.reportEvidence(entry.key, facts.uid, "", "push-lost");
    } catch (error) {
      logger.warn("lost push connection not stored", { revision: entry.key, error });
    }
  }

  #drop(session: PodSession): void {
    const { uid } = session.facts;
    session.saidGoodbye = session.lastReport?.kind === "goodbye";
    clearTimeout(session.lostTimer);
    this.#sessions.delete(uid);
    session.entry.pods.delete(uid);
  }

  async #store(session: PodSession, report: PushReport): Promise<void> {
    let result = await this.#write(session, report);
    if (result.kind === "unknown-revision") {
      // A lost store, or a pod that is quicker than the word that its revision exists.
      if ((await this.#options.revisions.load(session.entry)) === "configured") {
        result = await this.#write(session, report);
      }
    }
    if (result.kind === "unknown-revision") {
      throw new PlatformError("ERR_STORE_UNAVAILABLE", "The store does not know the revision yet.");
    }
    session.stored(report, result);
    session.entry.targets = result.targets;
  }

  #write(session: PodSession, report: PushReport): Promise<ReportResult> {
    const { entry, facts } = session;
    return this.#options.store.reportReadiness(
      { ...report, revision: entry.key },
      { card: facts.card, marks: session.marks },
    );
  }

  /** The sidecar need not be asked: each heartbeat says everything, only the batch leaves it out. */
  async #reportAgain(podUid: string): Promise<void> {
    const session = this.#sessions.get(podUid);
    if (session?.lastReport === undefined) return;
    try {
      await this.#store(session, session.lastReport);
    } catch (error) {
      this.#options.logger.debug("state not stored again", { pod: podUid, error });
    }
  }

  #heartbeatMs(): number {
    let targets = 0;
    for (const entry of this.#options.revisions.all()) targets += entry.targets;
    return Math.max(MIN_HEARTBEAT_MS, Math.ceil((targets / TARGETS_PER_SECOND) * 1000));
  }
}

/** Nothing in it but "still here": a draining pod waits for its answer, and answers are news. */
function isQuiet(report: PushReport): boolean {
  return report.kind === "heartbeat" && report.state !== "draining" && report.asked.length === 0;
}

/** A sidecar may speak for its own pod only, from that pod's address. */
function checkReport(session: PodSession, report: PushReport, source: string): void {
  const { facts, entry } = session;
  if (session.refusal !== "") throw refused(session.refusal);
  if (report.revision !== entry.key) throw refused(`the pod belongs to ${entry.key}`);
  if (facts.address !== "" && facts.address !== source) {
    throw refused(`the push came from ${source}, not from the pod's address`);
  }
  if (withoutMapping(report.address) !== source) {
    throw refused(`the push names the address ${report.address}, but came from ${source}`);
  }
}

function refused(why: string): PlatformError {
  return new PlatformError("ERR_PUSH_REFUSED", `Push refused: ${why}.`);
}
