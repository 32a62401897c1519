/**
 * The whole controller over a real store whose scripts run on virtual time: hours pass in seconds,
 * and the rules about time are those of the product.
 */
import { createAutoscaler } from "../../autoscaler/controller.ts";
import type { Autoscaler } from "../../autoscaler/controller.ts";
import { PLATFORM_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import type { ClusterDefaults } from "../../autoscaler/core/settings/defaults.ts";
import { createRandom } from "../../common/random.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { PlatformEvent } from "../../foundation/events.ts";
import { createLogger } from "../../foundation/logger.ts";
import { createStore } from "../../store/store.ts";
import type { StoreHandle } from "../../store/store.ts";
import { SERVICE_KEY, World } from "./autoscaler-world.ts";
import { VirtualTime } from "./autoscaler-time.ts";
import { eventually } from "./eventually.ts";
import { acquireRequest, pushReport } from "./routing.ts";
import type { ValkeyServer } from "./valkey.ts";

export const ZERO_ALLOWED: ClusterDefaults = { ...PLATFORM_DEFAULTS, allowZeroInitialScale: true };
const START_MS = 1_800_000_000_000;
const ACTIVATOR = "act-1";

export interface RigOptions {
  readonly defaults?: ClusterDefaults;
  /** The controller's own clock ahead of the store's. */
  readonly skewMs?: number;
  /** Each event that the controller sends. */
  readonly onEvent?: (event: PlatformEvent) => void;
}

export class ScalingRig {
  readonly world = new World();
  readonly time = new VirtualTime(START_MS);
  readonly handle: StoreHandle;
  readonly #options: RigOptions;
  #sequence = 0;
  #busy: readonly string[] = [];
  #autoscaler: Autoscaler | null = null;

  constructor(server: ValkeyServer, options: RigOptions = {}) {
    this.#options = options;
    this.handle = createStore({
      url: server.url,
      prefix: server.freshPrefix(),
      activatorId: ACTIVATOR,
      testTime: () => Math.round(this.time.now * 1_000),
    });
  }

  get autoscaler(): Autoscaler {
    if (this.#autoscaler === null) throw new Error("start the rig first");
    return this.#autoscaler;
  }

  get replicas(): number {
    return this.world.replicas.get(SERVICE_KEY) ?? 0;
  }

  async start(): Promise<void> {
    await this.handle.ready();
    const { onEvent = () => undefined } = this.#options;
    this.#autoscaler = createAutoscaler({
      events: { emit: onEvent },
      store: this.handle.store,
      subscriber: this.handle.subscriber,
      objects: this.world.objects,
      scale: this.world.scale,
      status: this.world.status,
      clock: this.time.clock(this.#options.skewMs),
      timers: this.time.timers,
      random: createRandom(1),
      logger: createLogger({ name: "test", level: "silent" }),
      defaults: this.#options.defaults ?? ZERO_ALLOWED,
    });
    await this.#autoscaler.start();
    await this.settle();
  }

  /** The process dies and another one takes over. */
  async restart(): Promise<void> {
    await this.autoscaler.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#autoscaler?.stop();
    await this.handle.close();
  }

  settle(): Promise<unknown> {
    return eventually(() => this.autoscaler.busy() === 0, { everyMs: 1 });
  }

  /** Time in steps of one second; `each` is called after each with the seconds passed. */
  async pass(
    seconds: number,
    each: (second: number) => void | Promise<void> = () => undefined,
  ): Promise<void> {
    for (let second = 1; second <= seconds; second += 1) {
      await this.time.advance(1_000, () => this.settle());
      await this.#keepAlive();
      await each(second);
    }
  }

  /** All pods tell the store and the platform that they are ready. */
  async podsReady(count = Number.POSITIVE_INFINITY, capacity = 1): Promise<void> {
    const pods = this.world.podsOf();
    const ready = pods.slice(0, count).map((pod) => pod.uid);
    for (const uid of ready) await this.#push(uid, capacity);
    this.world.pods.set(
      SERVICE_KEY,
      pods.map((pod) => ({
        ...pod,
        waitingFor: ready.includes(pod.uid) ? "" : pod.waitingFor,
        phase: ready.includes(pod.uid) ? ("ready" as const) : ("starting" as const),
      })),
    );
    this.world.changePods(SERVICE_KEY);
    await this.settle();
  }

  /** `count` requests arrive and stay. */
  async call(count: number, key: RevisionKey = SERVICE_KEY): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      this.#sequence += 1;
      const leaseId = `lease-${this.#sequence}`;
      await this.handle.store.acquireLease(acquireRequest(leaseId, { revision: key }));
      this.#busy = [...this.#busy, leaseId];
    }
  }

  /** All requests end. */
  async hangUp(): Promise<void> {
    for (const leaseId of this.#busy) {
      const waited = await this.handle.store.cancelTicket(SERVICE_KEY, leaseId);
      if (waited) continue;
      await this.handle.store.releaseLease({
        revision: SERVICE_KEY,
        leaseId,
        outcome: "done",
        status: 200,
        serviceMs: 1,
      });
    }
    this.#busy = [];
  }

  async #push(uid: string, capacity: number): Promise<void> {
    this.#sequence += 1;
    const report = pushReport(uid, { boot: 1, sequence: this.#sequence, capacity });
    await this.handle.store.reportReadiness(report, { card: "default", marks: {} });
  }

  /** What activator and sidecars would send: leases and targets live on. */
  async #keepAlive(): Promise<void> {
    if (this.#busy.length > 0) await this.handle.store.renewActivator(SERVICE_KEY, ACTIVATOR);
    for (const pod of this.world.podsOf()) {
      if (pod.phase !== "ready") continue;
      this.#sequence += 1;
      const beat = { podUid: pod.uid, boot: 1, sequence: this.#sequence };
      await this.handle.store.reportHeartbeats(SERVICE_KEY, [beat]);
    }
  }
}
