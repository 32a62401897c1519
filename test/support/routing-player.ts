/** Plays random steps against a real store and checks every one with the model and invariants. */
import type { Redis } from "ioredis";
import { chooseTarget } from "../../activator/core/choose-target.ts";
import type { PushReport } from "../../common/contracts/push.ts";
import type { AcquireRequest, AcquireResult, Lease, RoutingStore } from "../../store/types.ts";
import { changeFaults, unchanged } from "./routing-changes.ts";
import { dumpRouting } from "./routing-dump.ts";
import type { RoutingDump } from "./routing-dump.ts";
import { findFaults } from "./routing-invariants.ts";
import { STARVATION_LIMIT_MS, bandsOf, callDetails, fastestTarget } from "./routing-ranking.ts";
import {
  canReturn,
  isDropped,
  isNewer,
  stateAfterProbe,
  stateAfterReport,
  statesAfterEvidence,
} from "./routing-model.ts";
import type { ModelSettings } from "./routing-model.ts";
import type { Step } from "./routing-steps.ts";
import { REVISION, pushReport, revisionConfig } from "./routing.ts";

export interface Stage {
  readonly store: RoutingStore;
  readonly admin: Redis;
  readonly prefix: string;
  /** Server time in us, moved by `time` steps. */
  nowUs: number;
}

interface PodLife {
  boot: number;
  sequence: number;
  /** Leases the last reply asked about. */
  ask: readonly string[];
}

const SETTINGS: ModelSettings = { flapThreshold: 2, quarantineMaxUs: 20_000_000 };
const CONFIG = { flapThreshold: 2, quarantineMaxMs: 20_000, queueDepth: 12, localQueue: 2 };
const CARDS = ["", "A", "B"] as const;
const cardOf = (pod: number): string => CARDS[pod % CARDS.length] ?? "";

const activatorName = (activator: number): string => `act-${activator}`;
const leaseName = (lease: number): string => `r${lease}`;

/** Returns what is wrong after the first step that went wrong, or null. */
export async function playSteps(stage: Stage, steps: readonly Step[]): Promise<string | null> {
  const player = new Player(stage);
  await player.begin();
  for (const [index, step] of steps.entries()) {
    const faults = await player.play(step);
    if (faults.length > 0) {
      return `step ${index} ${JSON.stringify(step)}:\n  ${faults.slice(0, 6).join("\n  ")}`;
    }
  }
  const left = await player.finish();
  return left.length > 0 ? `after the end:\n  ${left.join("\n  ")}` : null;
}

type StepOf<Kind extends Step["do"]> = Extract<Step, { do: Kind }>;

type Acts = {
  readonly [Kind in Step["do"]]: (step: StepOf<Kind>, before: RoutingDump) => Promise<string[]>;
};

class Player {
  readonly #stage: Stage;
  readonly #store: RoutingStore;
  readonly #pods = new Map<string, PodLife>();
  /** How often a pod was replaced by a new one, with a uid of its own. */
  readonly #generations = new Map<number, number>();
  #policy = revisionConfig().policy;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#store = stage.store;
  }

  async begin(): Promise<void> {
    await this.#store.configureRevision(revisionConfig(CONFIG));
  }

  async play(step: Step): Promise<string[]> {
    const before = await this.#dump();
    const faults = await this.#perform(step, before).catch((error: unknown) => [String(error)]);
    const after = await this.#dump();
    return [...faults, ...findFaults(after), ...this.#changeFaults(step, before, after)];
  }

  /** Everybody leaves, every pod answers: nothing may be left, whatever happened before. */
  async finish(): Promise<string[]> {
    const store = this.#store;
    for (const activator of [0, 1, 2]) {
      await store.leaveRevision(REVISION, activatorName(activator));
    }
    for (const uid of (await this.#dump()).targets.keys()) {
      await store.removeTarget(REVISION, uid, "end");
    }
    // Tombstones of silent targets keep lapsed leases until their pod is known to be gone.
    await store.comparePods(REVISION, []);
    const { requests, targets } = await this.#dump();
    const busy = [...targets].filter(([, target]) => target.inFlight !== 0);
    return [
      ...[...requests.keys()].map((id) => `${id} is left`),
      ...busy.map(([uid]) => `${uid} is busy`),
    ];
  }

  #uid(pod: number): string {
    return `p${pod}.${this.#generations.get(pod) ?? 0}`;
  }

  #changeFaults(step: Step, before: RoutingDump, after: RoutingDump): string[] {
    return changeFaults(step, "pod" in step ? this.#uid(step.pod) : "", { before, after });
  }

  #dump(): Promise<RoutingDump> {
    return dumpRouting(this.#stage.admin, this.#stage.prefix, REVISION);
  }

  #perform(step: Step, before: RoutingDump): Promise<string[]> {
    // Each row takes the steps of its own name.
    const act = this.#acts[step.do] as (step: Step, before: RoutingDump) => Promise<string[]>;
    return act(step, before);
  }

  /** How each kind of step is done; the result is what the model finds wrong. */
  readonly #acts: Acts = {
    acquire: (step, before) => this.#acquire(step, before),
    report: (step, before) => this.#report(step, before),
    beat: ({ pods }, before) => this.#beat(pods, before),
    evidence: async ({ pod, evidence }, before) => {
      const uid = this.#uid(pod);
      await this.#store.reportEvidence(REVISION, uid, "", evidence);
      const target = before.targets.get(uid);
      if (target === undefined || target.state === "deleted") return [];
      return this.#expectState(uid, statesAfterEvidence(before, target, evidence));
    },
    probe: async ({ pod, passed }, before) => {
      const uid = this.#uid(pod);
      await this.#store.reportProbe(REVISION, uid, passed);
      const target = before.targets.get(uid);
      if (target === undefined || target.state === "deleted") return [];
      const context = { now: this.#time(before), settings: SETTINGS };
      const state = stateAfterProbe(target, passed, context);
      const left = state === "draining" && target.inFlight === 0 ? "deleted" : state;
      return this.#expectState(uid, [left]);
    },
    release: async ({ lease: number, outcome }) => {
      const leaseId = leaseName(number);
      const rest = { status: 200, serviceMs: 1 };
      await this.#store.releaseLease({ revision: REVISION, leaseId, outcome, ...rest });
      return [];
    },
    cancel: async ({ lease: number }) => {
      await this.#store.cancelTicket(REVISION, leaseName(number));
      return [];
    },
    renew: async ({ activator }) => {
      await this.#store.renewActivator(REVISION, activatorName(activator));
      return [];
    },
    leave: async ({ activator }) => {
      await this.#store.leaveRevision(REVISION, activatorName(activator));
      return [];
    },
    reassert: ({ activator }, before) => this.#reassert(activatorName(activator), before),
    configure: async ({ policy, order = "fifo", binding = "late" }) => {
      this.#policy = policy;
      const limits = { starvationLimitMs: STARVATION_LIMIT_MS };
      await this.#store.configureRevision(
        revisionConfig({ ...CONFIG, ...limits, policy, queueOrder: order, binding }),
      );
      return [];
    },
    figures: async () => {
      await this.#store.readFigures(REVISION, { record: true });
      return [];
    },
    compare: async ({ pods, draining }) => {
      const facts = pods.map((pod) => {
        const uid = this.#uid(pod);
        return { uid, podName: `pod-${uid}`, draining: draining.includes(pod), card: cardOf(pod) };
      });
      await this.#store.comparePods(REVISION, facts);
      return [];
    },
    drain: async ({ pod }) => {
      await this.#store.drainTarget(REVISION, this.#uid(pod), "test");
      return [];
    },
    remove: async ({ pod }) => {
      await this.#store.removeTarget(REVISION, this.#uid(pod), "test");
      return [];
    },
    time: ({ ms }) => {
      this.#stage.nowUs += ms * 1_000;
      return Promise.resolve([]);
    },
  };

  async #acquire(step: StepOf<"acquire">, before: RoutingDump): Promise<string[]> {
    const request: AcquireRequest = {
      revision: REVISION,
      activatorId: activatorName(step.activator),
      leaseId: leaseName(step.lease),
      exclude: step.exclude.map((pod) => this.#uid(pod)),
      arrivedAt: 0,
      mayWait: step.mayWait,
      random: step.random,
      ...(step.call === undefined
        ? {}
        : { call: callDetails(step.call, this.#time(before), (pod) => this.#uid(pod)) }),
    };
    const result = await this.#store.acquireLease(request);
    const again = await this.#store.acquireLease({ ...request, mayWait: false });
    const actual = result.kind === "leased" ? result.lease.targetUid : result.kind;
    const expected = this.#expectAnswer(request, before);
    const isKept = result.kind === "leased" || result.kind === "waiting";
    const faults = isKept ? sameAnswer(result, again) : [];
    return actual === expected ? faults : [...faults, `answered ${actual}, should be ${expected}`];
  }

  /** Uid of the target, or the kind of the answer. */
  #expectAnswer(request: AcquireRequest, before: RoutingDump): string {
    const known = before.requests.get(request.leaseId);
    if (known !== undefined) return known.kind === "lease" ? known.uid : "waiting";
    const chosen =
      this.#policy === "speed-aware"
        ? fastestTarget(before, request)
        : this.#chooseByPolicy(before, request);
    if (chosen !== undefined) return chosen;
    if (!request.mayWait) return "no-slot";
    return before.queue.length >= CONFIG.queueDepth ? "queue-full" : "waiting";
  }

  /** Those with a free slot come before those with a place in their local queue only. */
  #chooseByPolicy(before: RoutingDump, request: AcquireRequest): string | undefined {
    const { exclude, random } = request;
    const cursor = Number(before.meta.get("cursor") ?? 0);
    const choice = { policy: this.#policy, cursor, exclude, random };
    for (const band of bandsOf(before, this.#policy)) {
      const chosen = chooseTarget(band, choice);
      if (chosen !== undefined) return chosen.uid;
    }
    return undefined;
  }

  async #report(step: StepOf<"report">, before: RoutingDump): Promise<string[]> {
    this.#replaceDead(step, before);
    const report = this.#makeReport(step);
    const uid = report.podUid;
    const reply = await this.#store.reportReadiness(report, { card: cardOf(step.pod), marks: {} });
    this.#life(uid).ask = reply.ask;
    const target = before.targets.get(uid);
    if (isDropped(target, report)) return unchanged(before, await this.#dump());
    const ended = report.asked.filter((id) => {
      const lease = before.requests.get(id);
      const isOwn = lease?.kind === "lease" && lease.uid === uid;
      return isOwn && lease.lapsed && !report.running.includes(id);
    });
    const open = (target?.inFlight ?? 0) - ended.length;
    const context = { now: this.#time(before), settings: SETTINGS };
    return this.#expectState(uid, [stateAfterReport(target, report, open, context)]);
  }

  /** A pod that is gone for good is followed by another one, with a uid of its own. */
  #replaceDead(step: StepOf<"report">, before: RoutingDump): void {
    const dead = before.targets.get(this.#uid(step.pod));
    if (step.order !== "next" || dead?.state !== "deleted" || canReturn(dead)) return;
    this.#generations.set(step.pod, (this.#generations.get(step.pod) ?? 0) + 1);
  }

  #makeReport(step: StepOf<"report">): PushReport {
    const uid = this.#uid(step.pod);
    const life = this.#life(uid);
    if (step.order === "reboot") Object.assign(life, { boot: life.boot + 1, sequence: 1 });
    if (step.order === "next") life.sequence += 1;
    return pushReport(uid, {
      kind: step.state === "goodbye" ? "goodbye" : "change",
      state: step.state === "goodbye" ? "draining" : step.state,
      boot: life.boot,
      sequence: step.order === "old" ? life.sequence - 1 : life.sequence,
      capacity: step.capacity,
      occupied: step.occupied,
      reportsRunning: step.confirms,
      asked: life.ask,
      running: step.stillRunning ? life.ask.slice(0, 1) : [],
      ...(step.kvFree === undefined ? {} : { kvFreeTokens: step.kvFree }),
    });
  }

  /** A heartbeat ends a doubt and the holding back of slots, and changes no other state. */
  async #beat(pods: readonly number[], before: RoutingDump): Promise<string[]> {
    const beats = pods.map((pod) => {
      const life = this.#life(this.#uid(pod));
      life.sequence += 1;
      return { podUid: this.#uid(pod), boot: life.boot, sequence: life.sequence };
    });
    await this.#store.reportHeartbeats(REVISION, beats);
    const after = await this.#dump();
    return beats.flatMap((beat) => {
      const target = before.targets.get(beat.podUid);
      if (target === undefined || target.state === "deleted") return [];
      if (target.boot !== beat.boot || !isNewer(beat, target)) return [];
      const { state, held } = after.targets.get(beat.podUid) ?? target;
      const expected = target.state === "suspected" ? target.reported : target.state;
      const isRight = state === expected && held === 0;
      return isRight ? [] : [`${beat.podUid} is ${state}, holds ${held}, should be ${expected}, 0`];
    });
  }

  /** Puts back all that the activator holds, and one lease that the store has lost. */
  async #reassert(activatorId: string, before: RoutingDump): Promise<string[]> {
    const leases: Lease[] = [...before.requests].flatMap(([leaseId, request]) =>
      request.kind === "lease" && request.holder === activatorId
        ? [lease(leaseId, request.uid, request.arrivedAt)]
        : [],
    );
    const lost = `lost-${activatorId}-${this.#stage.nowUs}`;
    leases.push(lease(lost, this.#uid(1), this.#stage.nowUs));
    await this.#store.reassertLeases(REVISION, activatorId, leases);
    return [];
  }

  #life(uid: string): PodLife {
    let life = this.#pods.get(uid);
    if (life === undefined) this.#pods.set(uid, (life = { boot: 1, sequence: 1, ask: [] }));
    return life;
  }

  /** Time of the revision: never behind what it has seen. */
  #time(before: RoutingDump): number {
    return Math.max(this.#stage.nowUs, Number(before.meta.get("at") ?? 0));
  }

  async #expectState(uid: string, states: readonly string[]): Promise<string[]> {
    const state = (await this.#dump()).targets.get(uid)?.state ?? "none";
    return states.includes(state) ? [] : [`${uid} is ${state}, should be ${states.join(" or ")}`];
  }
}

function lease(leaseId: string, targetUid: string, arrivedAt: number): Lease {
  return { leaseId, targetUid, address: "127.0.0.9:8012", arrivedAt, grantedAt: arrivedAt };
}

function sameAnswer(first: AcquireResult, again: AcquireResult): string[] {
  const same = JSON.stringify(first) === JSON.stringify(again);
  return same ? [] : [`asked twice: ${JSON.stringify(first)}, then ${JSON.stringify(again)}`];
}
