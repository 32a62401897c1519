/** Plays random steps against a real store and checks every one with the model and invariants. */
import type { Redis } from "ioredis";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { chooseTarget } from "../../activator/core/choose-target.ts";
import type { AcquireResult, Lease, RoutingStore } from "../../store/types.ts";
import { dumpRouting } from "./routing-dump.ts";
import type { RoutingDump } from "./routing-dump.ts";
import { findFaults, freeSlots } from "./routing-invariants.ts";
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
const CONFIG = { flapThreshold: 2, quarantineMaxMs: 20_000, queueDepth: 12 };

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

class Player {
  readonly #stage: Stage;
  readonly #pods = new Map<string, PodLife>();
  /** How often a pod was replaced by a new one, with a uid of its own. */
  readonly #generations = new Map<number, number>();
  #policy = revisionConfig().policy;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async begin(): Promise<void> {
    await this.#stage.store.configureRevision(revisionConfig(CONFIG));
  }

  async play(step: Step): Promise<string[]> {
    const before = await this.#dump();
    const faults = await this.#perform(step, before).catch((error: unknown) => [String(error)]);
    const after = await this.#dump();
    return [...faults, ...findFaults(after), ...this.#changeFaults(step, before, after)];
  }

  /** Everybody leaves, every pod answers: nothing may be left, whatever happened before. */
  async finish(): Promise<string[]> {
    const { store } = this.#stage;
    for (const activator of [0, 1, 2]) {
      await store.leaveRevision(REVISION, activatorName(activator));
    }
    for (const uid of [...(await this.#dump()).targets.keys()]) {
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

  async #perform(step: Step, before: RoutingDump): Promise<string[]> {
    const { store } = this.#stage;
    switch (step.do) {
      case "acquire":
        return this.#acquire(step, before);
      case "report":
        return this.#report(step, before);
      case "evidence": {
        const uid = this.#uid(step.pod);
        await store.reportEvidence(REVISION, uid, "", step.evidence);
        const target = before.targets.get(uid);
        if (target === undefined || target.state === "deleted") return [];
        return this.#expectState(uid, statesAfterEvidence(before, target, step.evidence));
      }
      case "probe": {
        const uid = this.#uid(step.pod);
        await store.reportProbe(REVISION, uid, step.passed);
        const target = before.targets.get(uid);
        if (target === undefined || target.state === "deleted") return [];
        const context = { now: this.#time(before), settings: SETTINGS };
        const state = stateAfterProbe(target, step.passed, context);
        const left = state === "draining" && target.inFlight === 0 ? "deleted" : state;
        return this.#expectState(uid, [left]);
      }
      case "beat":
        return this.#beat(step.pods, before);
      case "time":
        this.#stage.nowUs += step.ms * 1_000;
        return [];
      default:
        await this.#simple(step, before);
        return [];
    }
  }

  async #simple(step: Step, before: RoutingDump): Promise<void> {
    const { store } = this.#stage;
    switch (step.do) {
      case "release":
        return store.releaseLease({
          revision: REVISION,
          leaseId: leaseName(step.lease),
          outcome: step.outcome,
          status: 200,
          serviceMs: 1,
        });
      case "cancel":
        return void (await store.cancelTicket(REVISION, leaseName(step.lease)));
      case "renew":
        return void (await store.renewActivator(REVISION, activatorName(step.activator)));
      case "leave":
        return store.leaveRevision(REVISION, activatorName(step.activator));
      case "reassert":
        return this.#reassert(activatorName(step.activator), before);
      case "configure":
        this.#policy = step.policy;
        return store.configureRevision(revisionConfig({ ...CONFIG, policy: step.policy }));
      case "figures":
        return void (await store.readFigures(REVISION, { record: true }));
      case "compare":
        return store.comparePods(
          REVISION,
          step.pods.map((pod) => ({
            uid: this.#uid(pod),
            podName: `pod-${this.#uid(pod)}`,
            draining: step.draining.includes(pod),
            card: "",
          })),
        );
      case "drain":
        return store.drainTarget(REVISION, this.#uid(step.pod), "test");
      case "remove":
        return store.removeTarget(REVISION, this.#uid(step.pod), "test");
      default:
        throw new Error(`no simple step: ${step.do}`);
    }
  }

  async #acquire(step: Step & { do: "acquire" }, before: RoutingDump): Promise<string[]> {
    const leaseId = leaseName(step.lease);
    const exclude = step.exclude.map((pod) => this.#uid(pod));
    const request = {
      revision: REVISION satisfies RevisionKey,
      activatorId: activatorName(step.activator),
      leaseId,
      exclude,
      arrivedAt: 0,
      mayWait: step.mayWait,
      random: step.random,
    };
    const result = await this.#stage.store.acquireLease(request);
    const again = await this.#stage.store.acquireLease({ ...request, mayWait: false });
    const faults =
      result.kind === "leased" || result.kind === "waiting" ? sameAnswer(result, again) : [];
    const known = before.requests.get(leaseId);
    if (known !== undefined) {
      const kind = known.kind === "lease" ? "leased" : "waiting";
      return result.kind === kind ? faults : [...faults, `known ${kind}, answered ${result.kind}`];
    }
    const candidates = [...before.targets].map(([uid, target]) =>
      Object.assign({ uid, freeSlots: freeSlots(target) }, target),
    );
    const chosen = chooseTarget(candidates, {
      policy: this.#policy,
      cursor: Number(before.meta.get("cursor") ?? 0),
      exclude,
      random: step.random,
    });
    const full = before.queue.length >= CONFIG.queueDepth ? "queue-full" : "waiting";
    const expected = chosen?.uid ?? (step.mayWait ? full : "no-slot");
    const actual = result.kind === "leased" ? result.lease.targetUid : result.kind;
    return actual === expected ? faults : [...faults, `chose ${actual}, should be ${expected}`];
  }

  async #report(step: Step & { do: "report" }, before: RoutingDump): Promise<string[]> {
    const dead = before.targets.get(this.#uid(step.pod));
    if (step.order === "next" && dead?.state === "deleted" && !canReturn(dead)) {
      this.#generations.set(step.pod, (this.#generations.get(step.pod) ?? 0) + 1);
    }
    const uid = this.#uid(step.pod);
    const life = this.#life(uid);
    if (step.order === "reboot") Object.assign(life, { boot: life.boot + 1, sequence: 1 });
    if (step.order === "next") life.sequence += 1;
    const asked = life.ask;
    const isGoodbye = step.state === "goodbye";
    const report = pushReport(uid, {
      kind: isGoodbye ? "goodbye" : "change",
      state: step.state === "goodbye" ? "draining" : step.state,
      boot: life.boot,
      sequence: step.order === "old" ? life.sequence - 1 : life.sequence,
      capacity: step.capacity,
      occupied: step.occupied,
      reportsRunning: step.confirms,
      asked,
      running: step.stillRunning ? asked.slice(0, 1) : [],
    });
    const reply = await this.#stage.store.reportReadiness(report, { card: "", marks: {} });
    life.ask = reply.ask;
    const target = before.targets.get(uid);
    const after = await this.#dump();
    if (isDropped(target, report)) return unchanged(before, after);
    const ended = asked.filter((id) => {
      const lease = before.requests.get(id);
      const isLapsed = lease?.kind === "lease" && lease.lapsed && lease.uid === uid;
      return isLapsed && !report.running.includes(id);
    });
    const open = (target?.inFlight ?? 0) - ended.length;
    const context = { now: this.#time(before), settings: SETTINGS };
    return this.#expectState(uid, [stateAfterReport(target, report, open, context)]);
  }

  /** A heartbeat ends a doubt and the holding back of slots, and changes no other state. */
  async #beat(pods: readonly number[], before: RoutingDump): Promise<string[]> {
    const beats = pods.map((pod) => {
      const life = this.#life(this.#uid(pod));
      life.sequence += 1;
      return { podUid: this.#uid(pod), boot: life.boot, sequence: life.sequence };
    });
    await this.#stage.store.reportHeartbeats(REVISION, beats);
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
  async #reassert(activatorId: string, before: RoutingDump): Promise<void> {
    const leases: Lease[] = [...before.requests].flatMap(([leaseId, request]) =>
      request.kind === "lease" && request.holder === activatorId
        ? [lease(leaseId, request.uid, request.arrivedAt)]
        : [],
    );
    const lost = `lost-${activatorId}-${this.#stage.nowUs}`;
    leases.push(lease(lost, this.#uid(1), this.#stage.nowUs));
    await this.#stage.store.reassertLeases(REVISION, activatorId, leases);
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

/** I5: neither targets nor requests differ. */
function unchanged(before: RoutingDump, after: RoutingDump): string[] {
  const text = (dump: RoutingDump): string =>
    JSON.stringify([[...dump.targets].toSorted(), [...dump.requests].toSorted()]);
  return text(before) === text(after) ? [] : ["an old report changed something"];
}

const SWEEPING = new Set<Step["do"]>(["renew", "figures", "compare", "beat", "report", "leave"]);

interface Change {
  readonly before: RoutingDump;
  readonly after: RoutingDump;
}

function changeFaults(step: Step, uid: string, { before, after }: Change): string[] {
  return [
    ...integralFaults(before, after),
    ...grantFaults(step, before, after),
    ...orderFaults(before, after),
    ...(SWEEPING.has(step.do) ? [] : strangerFaults(uid, before, after)),
  ];
}

/** The integral grows by what stood between the two times. */
function integralFaults(before: RoutingDump, after: RoutingDump): string[] {
  const of = (dump: RoutingDump, name: string): number => Number(dump.meta.get(name) ?? 0);
  const expected =
    of(before, "integral") + (of(after, "at") - of(before, "at")) * before.requests.size;
  const actual = of(after, "integral");
  return actual === expected ? [] : [`integral is ${actual}, should be ${expected}`];
}

/** I1 and I4: only targets that may serve get leases, and never beyond their capacity. */
function grantFaults(step: Step, before: RoutingDump, after: RoutingDump): string[] {
  // What is put back runs already, whatever the state and capacity.
  if (step.do === "reassert") return [];
  return [...after.requests].flatMap(([id, request]) => {
    if (request.kind !== "lease" || before.requests.get(id)?.kind === "lease") return [];
    const target = after.targets.get(request.uid);
    if (target === undefined || (target.state !== "ready" && target.state !== "suspected")) {
      return [`${id} was given ${request.uid}, which is ${target?.state}`];
    }
    const isOver = target.capacity > 0 && target.inFlight > target.capacity;
    return isOver ? [`${request.uid} has ${target.inFlight} of ${target.capacity}`] : [];
  });
}

/** A slot goes to the first in the queue that lives and may use it. */
function orderFaults(before: RoutingDump, after: RoutingDump): string[] {
  return before.queue.flatMap((id, position) => {
    const ticket = before.requests.get(id);
    const granted = after.requests.get(id);
    if (granted?.kind !== "lease" || ticket?.kind !== "ticket") return [];
    const { uid } = granted;
    if (ticket.exclude.includes(uid)) return [`${id} was given ${uid}, which it excludes`];
    if (!isAlive(after, ticket.holder) && !isHeldBack(after)) {
      return [`${id} was served although ${ticket.holder} is gone`];
    }
    const passed = before.queue.slice(0, position).find((earlier) => {
      const other = after.requests.get(earlier);
      if (other?.kind !== "ticket" || other.exclude.includes(uid)) return false;
      return isAlive(after, other.holder);
    });
    return passed === undefined ? [] : [`${id} was served before ${passed}`];
  });
}

function isAlive(dump: RoutingDump, activatorId: string): boolean {
  return (dump.activators.get(activatorId) ?? 0) > Number(dump.meta.get("clock") ?? 0);
}

/** After a gap in time nobody counts as gone. */
function isHeldBack(dump: RoutingDump): boolean {
  return Number(dump.meta.get("at") ?? 0) < Number(dump.meta.get("hold") ?? 0);
}

/** A step about one target changes the state of no other. */
function strangerFaults(own: string, before: RoutingDump, after: RoutingDump): string[] {
  return [...after.targets].flatMap(([uid, target]) => {
    const old = before.targets.get(uid);
    if (uid === own || old === undefined || old.state === target.state) return [];
    // The last lease of a draining target ends its time.
    if (old.state === "draining" && target.state === "deleted") return [];
    return [`${uid} went from ${old.state} to ${target.state} by a step about others`];
  });
}
