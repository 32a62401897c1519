/**
 * Looks after requests whose answer is late. A host that is cut off breaks no connection, so that
 * what was sent over a standing one would wait until the cable is back: here the pod is asked for a
 * new connection, and where none can be had nobody is sent there any more, and the requests under
 * way go on elsewhere as far as they may be repeated.
 */
import { ChurnMap } from "../common/churn-map.ts";
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

/** A request that was sent and has no answer yet. */
export interface Sending {
  readonly entry: RevisionEntry;
  readonly lease: Lease;
  readonly sender: Sender;
  readonly host: string;
  readonly port: number;
  readonly sentAt: number;
  lookAt: number;
  /** Set once the attempt runs. */
  running: RunningAttempt | undefined;
  isGivenUp: boolean;
}

export class Lookout {
  readonly #options: LookoutOptions;
  readonly #sendings = new ChurnMap<Sending>();
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
  sent({ host, port }: Attempt, of: Pick<Sending, "entry" | "lease" | "sender">): Sending {
    const { entry, lease, sender } = of;
    const sentAt = performance.now();
    const lookAt = sentAt + Math.max(LEAST_LATE_MS, LATE_FACTOR * entry.answerMs);
    const sending: Sending = {
      entry,
      lease,
      sender,
      host,
      port,
      sentAt,
      lookAt,
      running: undefined,
      isGivenUp: false,
    };
    this.#sendings.set(lease.leaseId, sending);
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS);
    return sending;
  }

  answered({ entry, lease, sentAt }: Sending): void {
    this.#sendings.delete(lease.leaseId);
    const tookMs = performance.now() - sentAt;
    entry.answerMs += (tookMs - entry.answerMs) * (entry.answerMs === 0 ? 1 : NEWEST);
  }

  /** How the attempt ended, in the light of what was found meanwhile. */
  ended(sending: Sending, end: AttemptEnd): AttemptEnd {
    this.#sendings.delete(sending.lease.leaseId);
    return sending.isGivenUp ? givenUpEnd(end, sending) : end;
  }

  /** It could not be sent at all. */
  forget({ leaseId }: Lease): void {
    this.#sendings.delete(leaseId);
  }

  #look(): void {
    if (this.#sendings.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const now = performance.now();
    for (const sending of this.#sendings.values()) {
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
    for (const sending of this.#sendings.values()) {
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
