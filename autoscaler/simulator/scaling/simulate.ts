/**
 * One revision on virtual time: arrivals from a trace, start times from samples, and the decisions
 * of the product itself, at its ticks, wakes and looks. The same scenario gives the same bytes.
 */
import { createRandom } from "../../../common/random.ts";
import type { Random } from "../../../common/random.ts";
import { activeCondition, updateConditions } from "../../core/conditions.ts";
import { decide } from "../../core/decision.ts";
import type { Decision } from "../../core/decision.ts";
import { GATHER_MS } from "../../core/from-zero.ts";
import { leaveOrder } from "../../core/leave-order.ts";
import { emptyState } from "../../core/scaler-state.ts";
import type { ScalerState } from "../../core/scaler-state.ts";
import { LoadHistory } from "../../core/windows.ts";
import { EventQueue } from "./event-queue.ts";
import { Fleet } from "./fleet.ts";
import type { SimulatedPod, WaitingRequest } from "./fleet.ts";
import { quantiles } from "./quantiles.ts";
import type { ScalingResult, ScalingScenario } from "./types.ts";

const TICK_MS = 2_000;
const START_TIME_MS = 10_000;
const ALL_WELL = { status: "True", reason: "", message: "" } as const;

type SimulationEvent =
  | { readonly kind: "arrival"; readonly index: number }
  | { readonly kind: "ready"; readonly pod: SimulatedPod }
  | { readonly kind: "done"; readonly pod: SimulatedPod }
  | { readonly kind: "tick" }
  | { readonly kind: "pods" }
  | { readonly kind: "look" };

export function simulateScaling(scenario: ScalingScenario): ScalingResult {
  return new Simulation(scenario).run();
}

class Simulation {
  readonly #scenario: ScalingScenario;
  readonly #random: Random;
  readonly #events = new EventQueue<SimulationEvent>();
  readonly #fleet: Fleet;
  readonly #history = new LoadHistory();
  readonly #waits: number[] = [];
  readonly #scale: [number, number][] = [];
  readonly #ticks: [number, number][] = [];
  readonly #startsInOrder: number[];
  #state: ScalerState;
  #replicas: number;
  #peakPods: number;
  #coldStarts = 0;
  #integralUs = 0;
  #arrivals = 0;
  #now = 0;
  /** Instant of the earliest look that is due, so that none is entered twice. */
  #lookAt = Number.POSITIVE_INFINITY;

  constructor(scenario: ScalingScenario) {
    this.#scenario = scenario;
    this.#random = createRandom(scenario.seed);
    this.#startsInOrder = [...(scenario.startsInOrderMs ?? [])];
    this.#fleet = new Fleet({
      slotsPerPod: scenario.settings.containerConcurrency,
      policy: scenario.settings.loadBalancing,
      horizonMs: scenario.horizonMs,
      // Of its own, so that the policy does not change which start times are drawn.
      random: createRandom(scenario.seed + 1),
    });
    this.#replicas = scenario.initialPods ?? 0;
    this.#peakPods = this.#replicas;
    this.#state = { ...emptyState(), initialised: true };
    for (let count = 0; count < this.#replicas; count += 1) {
      this.#fleet.becomeReady(this.#fleet.create(0), 0);
    }
  }

  run(): ScalingResult {
    this.#record();
    this.#nextArrival(0);
    if (this.#scenario.ticksAtMs === undefined) this.#events.add(TICK_MS, { kind: "tick" });
    for (const atMs of this.#scenario.ticksAtMs ?? []) this.#events.add(atMs, { kind: "tick" });
    for (const atMs of this.#scenario.podChangesAtMs ?? [])
      this.#events.add(atMs, { kind: "pods" });
    for (let next = this.#events.next(); next !== undefined; next = this.#events.next()) {
      if (next.atMs > this.#scenario.horizonMs) break;
      this.#moveTo(next.atMs);
      this.#handle(next.event);
    }
    return this.#result();
  }

  #handle(event: SimulationEvent): void {
    switch (event.kind) {
      case "arrival":
        return this.#arrive(event.index);
      case "ready":
        if (event.pod.state !== "starting") return undefined;
        this.#fleet.becomeReady(event.pod, this.#now);
        this.#assign();
        // The platform hears of a change of its pods and looks.
        return this.#decide();
      case "done":
        this.#fleet.release(event.pod, this.#now);
        return this.#assign();
      case "tick":
        return this.#tick(event);
      case "pods":
        return this.#decide();
      case "look":
        this.#lookAt = Number.POSITIVE_INFINITY;
        return this.#decide();
    }
  }

  #tick(event: SimulationEvent): void {
    this.#decide();
    if (this.#scenario.ticksAtMs === undefined) this.#events.add(this.#now + TICK_MS, event);
    else this.#ticks.push([this.#now, this.#replicas]);
  }

  #arrive(index: number): void {
    const arrival = this.#scenario.arrivals[index];
    if (arrival === undefined) return;
    this.#arrivals += 1;
    const readyPods = this.#fleet.readyPods;
    if (readyPods === 0) this.#coldStarts += 1;
    this.#fleet.enqueue({ arrivedAt: this.#now, serviceMs: arrival.serviceMs });
    this.#assign();
    const { waiting } = this.#fleet;
    if (waiting > 0 && (readyPods === 0 || waiting === 1)) this.#lookIn(GATHER_MS);
    this.#nextArrival(index + 1);
  }

  #nextArrival(index: number): void {
    const arrival = this.#scenario.arrivals[index];
    if (arrival !== undefined) this.#events.add(arrival.atMs, { kind: "arrival", index });
  }

  #assign(): void {
    for (
      let next = this.#fleet.assign(this.#now);
      next !== null;
      next = this.#fleet.assign(this.#now)
    ) {
      this.#serve(next.pod, next.request);
    }
  }

  #serve(pod: SimulatedPod, request: WaitingRequest): void {
    this.#waits.push(this.#now - request.arrivedAt);
    this.#events.add(this.#now + request.serviceMs, { kind: "done", pod });
  }

  #decide(): void {
    this.#record();
    const decision = this.#decision();
    this.#state = { ...decision.state, conditions: this.#conditions(decision) };
    if (decision.comeBackInMs !== null && decision.comeBackInMs < TICK_MS) {
      this.#lookIn(decision.comeBackInMs);
    }
    if (decision.replicas === this.#replicas) return;
    this.#replicas = decision.replicas;
    this.#scale.push([this.#now, decision.replicas]);
    this.#fit();
  }

  #decision(): Decision {
    const { settings, defaults } = this.#scenario;
    const fleet = this.#fleet;
    const { readyPods } = fleet;
    const oldEnough = readyPods === 0 ? this.#now : this.#now - settings.scaleUpDelayMs;
    return decide({
      nowMs: this.#now,
      settings,
      defaults,
      reachable: true,
      trafficShare: null,
      serviceKnown: true,
      history: this.#history,
      resourcePercent: null,
      busy: fleet.busy,
      waiting: fleet.waiting,
      aged: fleet.waitingSince(oldEnough),
      oldestArrivedAtMs: fleet.oldestArrivedAt,
      readyPods,
      pods: fleet.staying.map((pod) => ({ uid: pod.uid, failure: null })),
      currentReplicas: this.#replicas,
      state: this.#state,
    });
  }

  /** Stock's way to zero leads over the Active condition and its age. */
  #conditions(decision: Decision): ScalerState["conditions"] {
    const { settings } = this.#scenario;
    const before = this.#state.conditions.find((condition) => condition.type === "Active");
    const active = activeCondition({
      ...settings,
      before: before?.status ?? "Unknown",
      beforeJudgement: before,
      initialised: true,
      want: decision.want,
      ready: this.#fleet.readyPods,
      reachable: true,
    });
    const judgements = { Active: active, ScaleTargetInitialized: ALL_WELL, SKSReady: ALL_WELL };
    return updateConditions(this.#state.conditions, judgements, this.#now);
  }

  /** Starts what is missing, sends away what is too much. */
  #fit(): void {
    const staying = this.#fleet.staying;
    for (let missing = this.#replicas - staying.length; missing > 0; missing -= 1) {
      const pod = this.#fleet.create(this.#now);
      this.#events.add(this.#now + this.#startTime(), { kind: "ready", pod });
    }
    this.#peakPods = Math.max(this.#peakPods, this.#fleet.pods.size);
    const surplus = staying.length - this.#replicas;
    if (surplus <= 0) return;
    const order = leaveOrder(
      staying.map((pod) => ({ ...pod, terminating: false })),
      this.#fleet.targets(),
    );
    for (const uid of order.slice(0, surplus)) {
      const pod = this.#fleet.pods.get(uid);
      if (pod !== undefined) this.#fleet.leave(pod, this.#now);
    }
  }

  #startTime(): number {
    const recorded = this.#startsInOrder.shift();
    if (recorded !== undefined) return recorded;
    const samples = this.#scenario.startTimesMs;
    return samples[Math.floor(this.#random() * samples.length)] ?? START_TIME_MS;
  }

  #lookIn(delayMs: number): void {
    const at = this.#now + delayMs;
    if (at >= this.#lookAt) return;
    this.#lookAt = at;
    this.#events.add(at, { kind: "look" });
  }

  #moveTo(atMs: number): void {
    const inFlight = this.#fleet.busy + this.#fleet.waiting;
    this.#integralUs += inFlight * (atMs - this.#now) * 1_000;
    this.#now = atMs;
  }

  #record(): void {
    this.#history.record(
      {
        at: this.#now * 1_000,
        concurrencyIntegral: this.#integralUs,
        arrivals: this.#arrivals,
      },
      this.#scenario.settings.windowMs,
    );
  }

  #result(): ScalingResult {
    const unserved = this.#fleet.waiting;
    return {
      requests: this.#arrivals,
      coldStarts: this.#coldStarts,
      podStarts: this.#fleet.podStarts,
      peakPods: this.#peakPods,
      scaleChanges: this.#scale.length,
      waitMs: quantiles(this.#waits),
      podSeconds: this.#fleet.seconds(),
      unserved,
      waitSeconds: this.#waits.reduce((sum, wait) => sum + wait, 0) / 1_000,
      scale: this.#scale,
      ticks: this.#ticks,
    };
  }
}
