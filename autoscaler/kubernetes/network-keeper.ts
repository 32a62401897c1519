/**
 * Keeps one ServerlessService per PodAutoscaler of our class as it must be, and removes the Metric
 * that the stock class leaves behind and would go on scraping for. Level-based, with a work queue:
 * an object that cannot be written delays only itself.
 */
import { LEAST_ACTIVATORS } from "../../common/activator-subset.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { Random } from "../../common/random.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { EntranceSink } from "../ports.ts";
import type { Timers } from "../timers.ts";
import { WorkQueue } from "../work-queue.ts";
import { apiStatus, orGone } from "./api-client.ts";
import type { ApiClient } from "./api-client.ts";
import type { Collection } from "./collection.ts";
import { desiredNetwork, isOwnedBy, networkUpdate } from "./desired-network.ts";
import { collectionPath, controllerOf, objectPath, splitKey } from "./objects.ts";
import type { KubeObject, PodAutoscaler, ServerlessService } from "./objects.ts";
import { isOurs } from "./scaled-revision.ts";

export interface NetworkKeeperOptions {
  readonly client: ApiClient;
  readonly scalers: Collection<PodAutoscaler>;
  readonly networks: Collection<ServerlessService>;
  readonly metrics: Collection<KubeObject>;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** Asked right before each write; false: another process leads this revision. */
  readonly mayAct: (key: RevisionKey) => boolean;
}

const CONCURRENCY = 16;

export class NetworkKeeper implements EntranceSink {
  readonly #options: NetworkKeeperOptions;
  readonly #queue: WorkQueue<RevisionKey>;
  /** As decided by this process; what another decided stands in the object. */
  readonly #activators = new Map<RevisionKey, number>();

  constructor(options: NetworkKeeperOptions) {
    this.#options = options;
    const { scalers, networks, metrics } = options;
    this.#queue = new WorkQueue({
      ...options,
      concurrency: CONCURRENCY,
      run: (key) => this.#keep(key),
    });
    for (const collection of [scalers, networks, metrics]) {
      // Keys of namespaced collections have the form of a revision's key.
      collection.onChange(({ key }) => this.#queue.add(key as RevisionKey));
    }
  }

  get failing(): number {
    return this.#queue.failing;
  }

  /** Looks at all, e.g. after a change of leader. Costs no call where all is well. */
  resync(): void {
    for (const { metadata } of this.#options.scalers.values()) {
      this.#queue.offer(`${metadata.namespace ?? ""}/${metadata.name}`);
    }
  }

  useActivators(key: RevisionKey, count: number): void {
    if (this.#activators.get(key) === count) return;
    this.#activators.set(key, count);
    this.#queue.offer(key);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #keep(key: RevisionKey): Promise<void> {
    const { scalers, mayAct } = this.#options;
    const scaler = scalers.get(key);
    if (scaler === undefined) {
      this.#activators.delete(key);
      return this.#queue.forget(key);
    }
    if (!isOurs(scaler) || scaler.metadata.deletionTimestamp !== undefined) return;
    if (!mayAct(key)) {
      // Another process decides by now; its word stands in the object.
      this.#activators.delete(key);
      return;
    }
    await this.#keepNetwork(key, scaler);
    await this.#dropMetric(key, scaler);
  }

  async #keepNetwork(key: RevisionKey, scaler: PodAutoscaler): Promise<void> {
    const present = this.#options.networks.get(key);
    const desired = desiredNetwork(scaler, this.#activatorsOf(key, present));
    if (present === undefined) return this.#create(key, desired);
    // Somebody else's: the status says so, and touching it would be a quarrel.
    if (!isOwnedBy(present, scaler)) return;
    const update = networkUpdate(present, desired);
    if (update === null) return;
    const path = objectPath("serverlessservices", splitKey(key));
    await orGone(this.#options.client.write<unknown>({ method: "PUT", path, body: update }), null);
    this.#options.logger.info("network of a revision set", { key });
  }

  #activatorsOf(key: RevisionKey, present: ServerlessService | undefined): number {
    return this.#activators.get(key) ?? (present?.spec?.numActivators || LEAST_ACTIVATORS);
  }

  async #create(key: RevisionKey, body: ServerlessService): Promise<void> {
    const { client, logger } = this.#options;
    const path = collectionPath("serverlessservices", splitKey(key).namespace);
    try {
      await client.write({ method: "POST", path, body });
      logger.info("network of a revision made", { key });
    } catch (error) {
      // Made a moment ago, by us or another leader; the watch will show whose it is.
      if (apiStatus(error) !== 409) throw error;
    }
  }

  async #dropMetric(key: RevisionKey, scaler: PodAutoscaler): Promise<void> {
    const metric = this.#options.metrics.get(key);
    if (metric === undefined || controllerOf(metric)?.uid !== scaler.metadata.uid) return;
    const path = objectPath("metrics", splitKey(key));
    await orGone(this.#options.client.write<unknown>({ method: "DELETE", path }), null);
    this.#options.logger.info("metric of the stock class removed", { key });
  }
}
