/**
 * Looks after requests whose answer is late. A host that is cut off breaks no connection, so that
 * what was sent over a standing one would wait until the cable is back: here the pod is asked for a
 * new connection, and where none can be had nobody is sent there any more, and the requests under
 * way go on elsewhere as far as they may be repeated.
 */
import { ChurnList, ListEntry } from "../common/churn-list.ts";
import type { Attempt, AttemptEnd, RunningAttempt } from "../proxy/types.ts";
import type { Lease } from "../store/types.ts";
import type { Reach } from "./probe-target.ts";
import type { RevisionEntry } from "./revision-entry.ts";
import type { Witness } from "./witness.ts";

/** An answer is late after this many times what answers of its revision took of late, */
const LATE_FACTOR = 4;
/** but never before that: with the connection asked for it stays well below a second. */
const LEAST_LATE_MS = 150;
const LOOK_EVERY_MS = 50;
/** Weight of the newest answer in the mean. */
const NEWEST = 0.1;

export interface LookoutOptions {
  readonly witness: Pick<Witness, "saw">;
  readonly reach: Reach;
  /** Longest wait for a connection to a pod. */
  readonly connectMs: number;
}

/** Who sent it. */
export interface Sender {
  /** Whether it may go on elsewhere although nobody knows if it ran. */
  mayRepeat(): boolean;
}

interface SentOf {
  readonly entry: RevisionEntry;
  readonly lease: Lease;
  readonly sender: Sender;
}

/** A request that was sent and has no answer yet. */
export class Sending extends ListEntry {
  readonly entry: RevisionEntry;
  readonly lease: Lease;
  readonly sender: Sender;
  readonly host: string;
  readonly port: number;
  readonly sentAt = performance.now();
  lookAt: number;
  /** Set once the attempt runs. */
  running: RunningAttempt | undefined;
  isGivenUp = false;

  constructor({ host, port }: Attempt, { entry, lease, sender }: SentOf) {
    super();
    this.entry = entry;
    this.lease = lease;
    this.sender = sender;
    this.host = host;
    this.port = port;
    this.lookAt = this.sentAt + Math.max(LEAST_LATE_MS, LATE_FACTOR * entry.answerMs);
  }
}

export class Lookout {
  readonly #options: LookoutOptions;
  readonly #sendings = new ChurnList<Sending>();
  readonly #asking = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LookoutOptions) {
    this.#options = options;
  }

  /** Requests that wait for the head of their answer. */
  get size(): number {
    return this.#sendings.size;
  }

  /** Looks after an attempt that is sent now, until `answered`, `ended` or `forget`. */
  sent(attempt: Attempt, of: SentOf): Sending {
    const sending = new Sending(attempt, of);
    this.#sendings.add(sending);
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS);
    return sending;
  }

  answered(sending: Sending): void {
    this.#sendings.remove(sending);
    const { entry, sentAt } = sending;
    const tookMs = performance.now() - sentAt;
    entry.answerMs += (tookMs - entry.answerMs) * (entry.answerMs === 0 ? 1 : NEWEST);
  }

  /** How the attempt ended, in the light of what was found meanwhile. */
  ended(sending: Sending, end: AttemptEnd): AttemptEnd {
    this.#sendings.remove(sending);
    return sending.isGivenUp ? givenUpEnd(end, sending) : end;
  }

  /** It could not be sent at all. */
  forget(sending: Sending): void {
    this.#sendings.remove(sending);
  }

  #look(): void {
    if (this.#sendings.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const now = performance.now();
    for (const sending of this.#sendings) {
      if (sending.lookAt > now) continue;
      // Rarer and rarer: a long request costs a handful of connections.
      sending.lookAt = now + (now - sending.sentAt);
      void this.#ask(sending);
    }
  }

  async #ask({ host, port, lease }: Sending): Promise<void> {
    const { reach, connectMs } = this.#options;
    const uid = lease.targetUid;
    if (this.#asking.has(uid)) return;
    this.#asking.add(uid);
    const askedAt = performance.now();
    const isReachable = await reach({ host, port }, connectMs);
    this.#asking.delete(uid);
    if (isReachable) return;
    for (const sending of this.#sendings) {
      if (sending.sentAt > askedAt) continue;
      // Where one host is out of reach others may be, too: nobody waits for their turn.
      if (sending.lease.targetUid !== uid) sending.lookAt = 0;
      else this.#unreachable(sending);
    }
  }

  #unreachable(sending: Sending): void {
    const { entry, lease, running, sender } = sending;
    this.#options.witness.saw({ entry, lease, evidence: "connect-failed" });
    // What may not run twice waits on: its answer may still come when the way is open again.
    if (running === undefined || !sender.mayRepeat()) return;
    sending.isGivenUp = true;
    running.cancel();
  }
}

/** Our own end of the connection, told as what it stands for: nobody knows whether the request ran. */
function givenUpEnd(end: AttemptEnd, { running }: Sending): AttemptEnd {
  if (end.kind !== "cancelled" || end.began) return end;
  return {
    kind: "reset",
    reused: false,
    bodySent: (running?.bytesUp ?? 0) > 0,
    bodyStarted: end.bodyStarted ?? true,
    message: "the pod answers nothing and takes no connection",
  };
}
