/**
 * The face of this folder: a cluster as the controller's ports, kept current by watches. Opens
 * nothing by itself; `start` does, and `ready` tells when all of it has been seen once.
 */
import type { Clock } from "../../common/clock.ts";
import { errorText } from "../../common/errors.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { Random } from "../../common/random.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { ClusterDefaults } from "../core/settings/defaults.ts";
import type { EntranceSink } from "../ports.ts";
import type { Timers } from "../timers.ts";
import type { ApiClient } from "./api-client.ts";
import { watchClusterDefaults } from "./cluster-defaults.ts";
import type { DefaultsWatch } from "./cluster-defaults.ts";
import { Collection } from "./collection.ts";
import type { CollectionStats, WatchTimes } from "./collection.ts";
import { DeploymentScale, STALE_MS } from "./deployment-scale.ts";
import { EventNotes } from "./event-notes.ts";
import { NetworkKeeper } from "./network-keeper.ts";
import { collectionPath, REVISION_LABEL } from "./objects.ts";
import type {
  ConfigMap,
  Deployment,
  KnativeService,
  KubeObject,
  Node,
  Pod,
  PodAutoscaler,
  Resource,
  Revision,
  ServerlessService,
} from "./objects.ts";
import { PodIndex } from "./pod-index.ts";
import type { ReclaimedPod } from "./pod-index.ts";
import { ResourceUse } from "./resource-use.ts";
import { RevisionSource } from "./revision-source.ts";
import { StatusWriter } from "./status-writer.ts";
import { trimDeployment, trimMeta, trimNode, trimPod, trimRevision } from "./trim.ts";

export interface ClusterOptions {
  readonly client: ApiClient;
  /** Where the stock ConfigMaps are. */
  readonly systemNamespace: string;
  readonly base: ClusterDefaults;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Asked right before each write; false: another process leads this revision. */
  readonly mayAct: (key: RevisionKey) => boolean;
  readonly watchTimes?: Partial<WatchTimes>;
}

export interface Cluster {
  readonly objects: RevisionSource;
  readonly scale: DeploymentScale;
  readonly status: StatusWriter;
  readonly entrance: EntranceSink;
  readonly defaults: DefaultsWatch;
  readonly resourceUse: ResourceUse;
  readonly notes: EventNotes;
  start(): void;
  stop(): Promise<void>;
  /** All collections were seen once. */
  ready(): Promise<void>;
  /** Looks at everything anew, after this process has become a leader. */
  resync(): void;
  /** Why nothing should be decided on these copies; empty while they are current. */
  unready(): string;
  stats(): readonly CollectionStats[];
  /** Objects that could not be written at the last try. */
  failing(): number;
}

/** How often revisions without an object, reclaimed pods and networks are looked at once more. */
const UPKEEP_MS = 2_000;
const RESYNC_MS = 30_000;

export function createCluster(options: ClusterOptions): Cluster {
  return new WatchedCluster(options);
}

class WatchedCluster implements Cluster {
  readonly objects: RevisionSource;
  readonly scale: DeploymentScale;
  readonly status: StatusWriter;
  readonly defaults: DefaultsWatch;
  readonly resourceUse: ResourceUse;
  readonly notes: EventNotes;
  readonly #options: ClusterOptions;
  readonly #copies: Copies;
  readonly #pods: PodIndex;
  readonly #network: NetworkKeeper;
  #cancel: () => void = () => undefined;
  #wasStale = false;
  #resyncedAt = 0;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#copies = createCopies(options);
    const { scalers, networks, metrics, deployments, configMaps } = this.#copies;
    this.#pods = new PodIndex({ ...this.#copies, clock: options.clock });
    this.objects = new RevisionSource({
      ...this.#copies,
      hasPods: (key) => this.#pods.has(key),
      clock: options.clock,
    });
    this.scale = new DeploymentScale({
      ...options,
      scalers,
      deployments,
      pods: this.#pods,
      ageMs: () => Math.max(this.#copies.pods.ageMs(), deployments.ageMs()),
    });
    this.status = new StatusWriter({ client: options.client, scalers, networks });
    this.resourceUse = new ResourceUse({ ...options, readyPods: (key) => this.#pods.ready(key) });
    this.notes = new EventNotes({ ...options, ...this.#copies, pods: this.#pods });
    this.#network = new NetworkKeeper({ ...options, scalers, networks, metrics });
    this.defaults = watchClusterDefaults({
      ...options,
      maps: configMaps,
      namespace: options.systemNamespace,
    });
    this.#pods.onReclaim((pod) => void this.#giveUp(pod));
  }

  get entrance(): EntranceSink {
    return this.#network;
  }

  start(): void {
    for (const collection of this.#all()) collection.start();
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#cancel();
    this.notes.stop();
    await this.#network.stop();
    await Promise.all(this.#all().map((collection) => collection.stop()));
  }

  async ready(): Promise<void> {
    await Promise.all(this.#all().map((collection) => collection.listed()));
  }

  resync(): void {
    this.#resyncedAt = this.#options.clock.now();
    this.#network.resync();
    for (const pod of this.#pods.reclaimed()) void this.#giveUp(pod);
  }

  unready(): string {
    for (const collection of this.#all()) {
      const { name, confirmedAt } = collection.stats;
      if (confirmedAt === 0) return `${name} have not been listed yet`;
    }
    // Nothing is scaled on an old copy of either.
    const { pods, deployments } = this.#copies;
    for (const copy of [pods, deployments]) {
      const ageMs = copy.ageMs();
      if (ageMs <= STALE_MS) continue;
      return `${copy.stats.name} were last confirmed ${Math.round(ageMs / 1_000)} s ago`;
    }
    return "";
  }

  stats(): readonly CollectionStats[] {
    return this.#all().map((collection) => collection.stats);
  }

  failing(): number {
    return this.#network.failing;
  }

  #all(): readonly Collection<KubeObject>[] {
    return Object.values(this.#copies) as Collection<KubeObject>[];
  }

  #arm(): void {
    this.#cancel = this.#options.timers.after(UPKEEP_MS, () => {
      this.#upkeep();
      this.#arm();
    });
  }

  #upkeep(): void {
    this.objects.forgetGone();
    this.scale.prune((key) => this.objects.get(key) !== undefined);
    if (this.#options.clock.now() - this.#resyncedAt >= RESYNC_MS) this.resync();
    const isStale = this.unready() !== "";
    // Reconciles failed meanwhile and wait in their back-off; now they can go on.
    if (this.#wasStale && !isStale) this.objects.tellAll();
    this.#wasStale = isStale;
  }

  /** Its node goes: a replacement is asked for now, while the pod drains in its own time. */
  async #giveUp({ key, pod, why }: ReclaimedPod): Promise<void> {
    const { logger, mayAct } = this.#options;
    if (!mayAct(key)) return;
    logger.warn("pod given up with its node", { key, pod: pod.metadata.name, why });
    try {
      await this.scale.deletePod(pod);
    } catch (error) {
      logger.warn("pod not given up yet", { key, error: errorText(error) });
    }
  }
}

interface Copies {
  readonly scalers: Collection<PodAutoscaler>;
  readonly networks: Collection<ServerlessService>;
  readonly metrics: Collection<KubeObject>;
  readonly revisions: Collection<Revision>;
  readonly services: Collection<KnativeService>;
  readonly deployments: Collection<Deployment>;
  readonly nodes: Collection<Node>;
  readonly pods: Collection<Pod>;
  readonly configMaps: Collection<ConfigMap>;
}

function createCopies(options: ClusterOptions): Copies {
  const { client, clock, random, logger, systemNamespace, watchTimes = {} } = options;
  const copy = <T extends KubeObject>(
    name: Resource,
    how: { trim: (object: T) => T; labelSelector?: string; namespace?: string },
  ): Collection<T> =>
    new Collection<T>({
      name,
      client,
      clock,
      random,
      logger,
      times: watchTimes,
      path: collectionPath(name, how.namespace),
      trim: how.trim,
      ...(how.labelSelector === undefined ? {} : { labelSelector: how.labelSelector }),
    });
  const ofRevisions = { labelSelector: REVISION_LABEL };
  return {
    scalers: copy<PodAutoscaler>("podautoscalers", { trim: trimMeta }),
    networks: copy<ServerlessService>("serverlessservices", { trim: trimMeta }),
    metrics: copy<KubeObject>("metrics", { trim: trimMeta }),
    revisions: copy<Revision>("revisions", { trim: trimRevision }),
    services: copy<KnativeService>("services", { trim: trimMeta }),
    deployments: copy<Deployment>("deployments", { ...ofRevisions, trim: trimDeployment }),
    nodes: copy<Node>("nodes", { trim: trimNode }),
    pods: copy<Pod>("pods", { ...ofRevisions, trim: trimPod }),
    configMaps: copy<ConfigMap>("configmaps", { namespace: systemNamespace, trim: trimMeta }),
  };
}
