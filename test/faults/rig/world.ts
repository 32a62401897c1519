/**
 * Everything that one fault needs: activators, pods, a store and a load, all real processes except
 * the containers. A fault changes it; the world counts what that did.
 */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import { revisionConfig } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { idleBesideWaiting } from "../../support/idle-beside-waiting.ts";
import type { IdleBesideWaiting } from "../../support/idle-beside-waiting.ts";
import type { DeliveryMessage } from "../preload/note-deliveries.ts";
import { startActivator } from "./activator-process.ts";
import type { ActivatorProcess } from "./activator-process.ts";
import { Ledger } from "./ledger.ts";
import { Load } from "./load.ts";
import { startPod } from "./pod.ts";
import type { FaultPod } from "./pod.ts";
import { makeRunFolder } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";
import { CALLER_PATIENCE_MS, NAMESPACE, REVISION, REVISION_NAME, SERVICE } from "./settings.ts";

const NOTE_DELIVERIES = fileURLToPath(new URL("../preload/note-deliveries.ts", import.meta.url));
const PREFIX = "faults:";
const START_MS = 30_000;
const SETTLE_MS = 20_000;
/** The switch of the event log is lost with the store, and is set again this often. */
const LOG_MS = 100;

export class World {
  readonly ledger = new Ledger();
  readonly load = new Load(this.ledger);
  readonly folder: RunFolder = makeRunFolder();
  readonly handle: StoreHandle;
  readonly activators: ActivatorProcess[] = [];
  readonly pods: FaultPod[] = [];
  /** Names of activators that the fault killed. */
  readonly killed = new Set<string>();
  readonly #url: string;
  readonly #logging: NodeJS.Timeout;
  #names = 0;

  constructor(url: string) {
    this.#url = url;
    this.handle = createStore({ url, prefix: PREFIX });
    this.#logging = setInterval(() => {
      this.handle.store.recordEvents(REVISION, true).catch(() => undefined);
    }, LOG_MS);
  }

  get store(): StoreHandle["store"] {
    return this.handle.store;
  }

  /** The key of the store whose slot holds all of the revision. */
  readonly metaKey = `${PREFIX}{${REVISION}}:meta`;

  async configure(): Promise<void> {
    await this.handle.ready();
    await this.store.configureRevision(
      revisionConfig({
        namespace: NAMESPACE,
        service: SERVICE,
        revision: REVISION_NAME,
        queueDepth: 10_000,
        queueTimeoutMs: CALLER_PATIENCE_MS,
        activationTimeoutMs: CALLER_PATIENCE_MS,
        timeoutMs: CALLER_PATIENCE_MS,
        quarantinePeriodMs: 1_000,
      }),
    );
  }

  async addActivator(preload: readonly string[] = []): Promise<ActivatorProcess> {
    this.#names += 1;
    const activator = await startActivator({
      name: `a${this.#names}`,
      preload: [NOTE_DELIVERIES, ...preload],
      env: {
        PILOTLIGHT_STORE_URL: this.#url,
        PILOTLIGHT_STORE_PREFIX: PREFIX,
        PILOTLIGHT_RUN_FOLDER: this.folder.path,
        PILOTLIGHT_LOG_LEVEL: process.env["PILOTLIGHT_LOG_LEVEL"] ?? "silent",
      },
    });
    activator.child.on("message", (message) => {
      const { type, id } = message as Partial<DeliveryMessage>;
      if (type === "delivered" && id !== undefined) this.ledger.delivered(id);
    });
    this.activators.push(activator);
    this.#spread();
    return activator;
  }

  async killActivator(activator: ActivatorProcess): Promise<void> {
    this.killed.add(activator.name);
    this.activators.splice(this.activators.indexOf(activator), 1);
    this.load.use(this.activators);
    await activator.kill();
    this.#spread();
  }

  async addPod(activators?: readonly string[]): Promise<FaultPod> {
    const pod = await startPod({
      revision: REVISION_NAME,
      activators: activators ?? this.activators.map(({ push }) => push),
      events: this.ledger,
      record: (uid, address) => this.folder.writePod({ uid, address, revision: REVISION_NAME }),
    });
    this.pods.push(pod);
    return pod;
  }

  async killPod(pod: FaultPod): Promise<void> {
    this.pods.splice(this.pods.indexOf(pod), 1);
    await pod.kill();
  }

  async allReady(): Promise<void> {
    await eventually(async () => (await this.readyTargets()).length === this.pods.length, {
      timeoutMs: START_MS,
      everyMs: 50,
      what: "every pod is ready in the store",
    });
  }

  async readyTargets(): Promise<readonly string[]> {
    const targets = await this.store.readTargets(REVISION);
    return targets.filter(({ state }) => state === "ready").map(({ uid }) => uid);
  }

  /** All requests over, all slots back, every living pod ready; else what is left. */
  async settled(): Promise<readonly string[]> {
    await eventually(() => this.ledger.open === 0, {
      timeoutMs: CALLER_PATIENCE_MS + 5_000,
      everyMs: 20,
      what: "every request has an end",
    });
    const isQuiet = async (): Promise<boolean> => {
      const { busy, waiting } = await this.store.readFigures(REVISION, { record: false });
      return busy + waiting === 0 && (await this.readyTargets()).length === this.pods.length;
    };
    return eventually(isQuiet, { timeoutMs: SETTLE_MS, everyMs: 50 }).then(
      () => [],
      () => this.#leftovers(),
    );
  }

  async #leftovers(): Promise<readonly string[]> {
    const { busy, waiting } = await this.store.readFigures(REVISION, { record: false });
    const living = new Set(this.pods.map(({ uid }) => uid));
    const targets = await this.store.readTargets(REVISION);
    const wrong = targets.filter(
      ({ uid, state, inFlight }) => !living.has(uid) || state !== "ready" || inFlight > 0,
    );
    return [
      `${busy} slots taken and ${waiting} requests waiting after the last request`,
      ...wrong.map(({ uid, state, inFlight, reason }) => `${uid} ${state} ${inFlight} ${reason}`),
      `${targets.length} targets for ${this.pods.length} pods`,
    ];
  }

  async idleBesideWaiting(): Promise<IdleBesideWaiting> {
    return idleBesideWaiting(await this.store.readEvents(REVISION));
  }

  async close(): Promise<void> {
    clearInterval(this.#logging);
    this.load.close();
    await Promise.all(this.activators.map((activator) => activator.kill()));
    await Promise.all(this.pods.map((pod) => pod.kill()));
    await this.handle.close();
    this.folder.remove();
  }

  /** Each pod may push to any activator that lives. */
  #spread(): void {
    const endpoints = this.activators.map(({ push }) => push);
    for (const pod of this.pods) pod.setActivators(endpoints);
  }
}

/** Of a fault's own steps; everything else waits for conditions. */
export function pause(ms: number): Promise<void> {
  return delay(ms);
}
