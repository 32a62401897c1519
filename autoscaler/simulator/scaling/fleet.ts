/**
 * The pods of one simulated revision and the queue in front of them: slots are chosen by the
 * policy as the store does, waiting requests are served in order of arrival, leaving pods finish
 * their work.
 */
import { chooseTarget } from "../../../activator/core/choose-target.ts";
import type { LoadBalancingPolicy } from "../../../common/contracts/routing.ts";
import type { Random } from "../../../common/random.ts";
import type { LeavingTarget } from "../../core/leave-order.ts";
import type { PodSeconds } from "./types.ts";

export interface SimulatedPod {
  readonly uid: string;
  readonly createdAt: number;
  state: "starting" | "ready" | "draining" | "gone";
  inFlight: number;
  idleSince: number;
  /** Number of its first readiness; 0 before. */
  admission: number;
  /** Since when the present use of the pod (starting, used or idle) has lasted. */
  since: number;
}

export interface WaitingRequest {
  readonly arrivedAt: number;
  readonly serviceMs: number;
}

type Use = "starting" | "used" | "idle";

export interface FleetOptions {
  /** 0 means no limit. */
  readonly slotsPerPod: number;
  readonly policy: LoadBalancingPolicy;
  readonly horizonMs: number;
  readonly random: Random;
}

export class Fleet {
  /** Pods that are not gone, in order of creation. */
  readonly pods = new Map<string, SimulatedPod>();
  readonly #slots: number;
  readonly #queue: WaitingRequest[] = [];
  #head = 0;
  #created = 0;
  #busy = 0;
  readonly #seconds: Record<Use, number> = { starting: 0, used: 0, idle: 0 };
  readonly #horizonMs: number;
  readonly #options: FleetOptions;
  /** Ready pods in order of admission. */
  #ready: SimulatedPod[] = [];
  #admitted = 0;
  /** Admission number of the last choice, for round robin. */
  #cursor = 0;

  constructor(options: FleetOptions) {
    const { slotsPerPod, horizonMs } = options;
    this.#slots = slotsPerPod === 0 ? Number.POSITIVE_INFINITY : slotsPerPod;
    this.#horizonMs = horizonMs;
    this.#options = options;
  }

  get podStarts(): number {
    return this.#created;
  }

  get busy(): number {
    return this.#busy;
  }

  get waiting(): number {
    return this.#queue.length - this.#head;
  }

  get oldestArrivedAt(): number {
    return this.#queue[this.#head]?.arrivedAt ?? 0;
  }

  /** Pods that take requests or will. */
  get staying(): readonly SimulatedPod[] {
    return [...this.pods.values()].filter((pod) => pod.state !== "draining");
  }

  get readyPods(): number {
    return this.#ready.length;
  }

  /** Waiting requests that arrived at `atMs` or before. */
  waitingSince(atMs: number): number {
    let [low, high] = [this.#head, this.#queue.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#queue[middle]?.arrivedAt ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low - this.#head;
  }

  create(nowMs: number): SimulatedPod {
    this.#created += 1;
    const pod: SimulatedPod = {
      uid: `pod-${this.#created}`,
      createdAt: nowMs,
      state: "starting",
      inFlight: 0,
      idleSince: 0,
      admission: 0,
      since: nowMs,
    };
    this.pods.set(pod.uid, pod);
    return pod;
  }

  becomeReady(pod: SimulatedPod, nowMs: number): void {
    this.#account(pod, nowMs);
    pod.state = "ready";
    pod.idleSince = nowMs;
    this.#admitted += 1;
    pod.admission = this.#admitted;
    this.#ready.push(pod);
  }

  /** No new requests; gone at once when nothing runs. */
  leave(pod: SimulatedPod, nowMs: number): void {
    this.#account(pod, nowMs);
    this.#ready = this.#ready.filter((ready) => ready !== pod);
    pod.state = pod.inFlight > 0 ? "draining" : "gone";
    if (pod.state === "gone") this.pods.delete(pod.uid);
  }

  enqueue(request: WaitingRequest): void {
    this.#queue.push(request);
  }

  /** The pod that the policy chooses and the request that goes there, or nothing. */
  assign(nowMs: number): { readonly pod: SimulatedPod; readonly request: WaitingRequest } | null {
    const request = this.#queue[this.#head];
    if (request === undefined) return null;
    const pod = this.#choose();
    if (pod === undefined) return null;
    this.#account(pod, nowMs);
    pod.inFlight += 1;
    this.#busy += 1;
    this.#cursor = pod.admission;
    this.#shift();
    return { pod, request };
  }

  #choose(): SimulatedPod | undefined {
    const { policy, random } = this.#options;
    // As the model says, without its lists: traces have many requests.
    if (policy === "first-available") return this.#ready.find((pod) => pod.inFlight < this.#slots);
    const free = this.#ready.map((pod) => ({ ...pod, pod, freeSlots: this.#slots - pod.inFlight }));
    const cursor = this.#cursor;
    const drawn = [random(), random()] as const;
    return chooseTarget(free, { policy, cursor, exclude: [], random: drawn })?.pod;
  }

  release(pod: SimulatedPod, nowMs: number): void {
    this.#account(pod, nowMs);
    pod.inFlight -= 1;
    this.#busy -= 1;
    if (pod.inFlight > 0) return;
    pod.idleSince = nowMs;
    if (pod.state === "draining") this.leave(pod, nowMs);
  }

  targets(): readonly LeavingTarget[] {
    return this.staying.map((pod) => ({
      uid: pod.uid,
      state: pod.state === "ready" ? "ready" : "starting",
      inFlight: pod.inFlight,
      idleSince: pod.idleSince,
    }));
  }

  /** Pod time up to the horizon. */
  seconds(): PodSeconds {
    for (const pod of this.pods.values()) this.#account(pod, this.#horizonMs);
    const { starting, used, idle } = this.#seconds;
    return { total: starting + used + idle, starting, used, idle };
  }

  #account(pod: SimulatedPod, nowMs: number): void {
    const until = Math.min(nowMs, this.#horizonMs);
    this.#seconds[useOf(pod)] += Math.max(0, until - pod.since) / 1_000;
    pod.since = Math.max(pod.since, until);
  }

  #shift(): void {
    this.#head += 1;
    if (this.#head < 1_024 || this.#head * 2 < this.#queue.length) return;
    this.#queue.splice(0, this.#head);
    this.#head = 0;
  }
}

function useOf(pod: SimulatedPod): Use {
  if (pod.state === "starting") return "starting";
  return pod.inFlight > 0 ? "used" : "idle";
}
