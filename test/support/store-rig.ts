/** A store over a server of its own prefix, with virtual time and short words for tests. */
import type { PushReport } from "../../common/contracts/push.ts";
import type { RevisionConfig, TargetView } from "../../common/contracts/routing.ts";
import { createStore } from "../../store/store.ts";
import type { StoreHandle } from "../../store/store.ts";
import type {
  AcquireRequest,
  AcquireResult,
  ReleaseOutcome,
  RoutingStore,
} from "../../store/types.ts";
import { REVISION, acquireRequest, pushReport, revisionConfig } from "./routing.ts";
import type { ValkeyServer } from "./valkey.ts";

const START_US = 1_700_000_000_000_000;
const US_PER_MS = 1_000;

export interface RigOptions {
  readonly activatorId?: string;
  /** Of another rig, to share its state over a connection of its own. */
  readonly prefix?: string;
}

export class StoreRig {
  readonly store: RoutingStore;
  readonly handle: StoreHandle;
  readonly prefix: string;
  nowUs = START_US;
  readonly #sequences = new Map<string, number>();
  #requests = 0;

  constructor(server: ValkeyServer, options: RigOptions = {}) {
    this.prefix = options.prefix ?? server.freshPrefix();
    this.handle = createStore({
      url: server.url,
      prefix: this.prefix,
      activatorId: options.activatorId ?? "act-1",
      testTime: () => this.nowUs,
    });
    this.store = this.handle.store;
  }

  async start(changes: Partial<RevisionConfig> = {}): Promise<this> {
    await this.handle.ready();
    await this.store.configureRevision(revisionConfig(changes));
    return this;
  }

  passMs(ms: number): void {
    this.nowUs += ms * US_PER_MS;
  }

  /** Time passes in steps in which an activator renews, as it does in life. */
  async liveMs(ms: number, activatorId = "act-1"): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      this.passMs(Math.min(500, left));
      await this.store.renewActivator(REVISION, activatorId);
    }
  }

  nextSequence(uid: string): number {
    const sequence = (this.#sequences.get(uid) ?? 0) + 1;
    this.#sequences.set(uid, sequence);
    return sequence;
  }

  report(
    uid: string,
    changes: Partial<PushReport> = {},
    card = "",
  ): ReturnType<RoutingStore["reportReadiness"]> {
    const sequence = this.nextSequence(uid);
    return this.store.reportReadiness(pushReport(uid, { sequence, ...changes }), {
      card,
      marks: {},
    });
  }

  beat(...uids: string[]): Promise<readonly string[]> {
    return this.store.reportHeartbeats(
      REVISION,
      uids.map((podUid) => ({ podUid, boot: 1, sequence: this.nextSequence(podUid) })),
    );
  }

  acquire(changes: Partial<AcquireRequest> = {}): Promise<AcquireResult> {
    this.#requests += 1;
    return this.store.acquireLease(acquireRequest(`r${this.#requests}`, changes));
  }

  /** Uid of the target chosen, or the kind of the result. */
  async choose(changes: Partial<AcquireRequest> = {}): Promise<string> {
    const result = await this.acquire(changes);
    if (result.kind === "leased") return result.lease.targetUid;
    return result.kind === "waiting" ? "wait" : result.kind;
  }

  async release(leaseId: string, outcome: ReleaseOutcome = "done"): Promise<void> {
    await this.store.releaseLease({
      revision: REVISION,
      leaseId,
      outcome,
      status: 200,
      serviceMs: 1,
    });
  }

  async target(uid: string): Promise<TargetView | undefined> {
    const targets = await this.store.readTargets(REVISION);
    return targets.find((target) => target.uid === uid);
  }

  async state(uid: string): Promise<string> {
    return (await this.target(uid))?.state ?? "deleted";
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
