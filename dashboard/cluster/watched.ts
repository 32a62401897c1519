/** Copies of the objects that the page speaks of, kept current by watches; reads only. */
import { STOCK_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import type { ApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import { watchClusterDefaults } from "../../autoscaler/kubernetes/cluster-defaults.ts";
import { clusterServices } from "../../autoscaler/kubernetes/cluster-services.ts";
import type { ClusterService } from "../../autoscaler/kubernetes/cluster-services.ts";
import { Collection } from "../../autoscaler/kubernetes/collection.ts";
import { collectionPath } from "../../autoscaler/kubernetes/objects.ts";
import type {
  ConfigMap,
  KnativeService,
  KubeObject,
  Pod,
  PodAutoscaler,
  Resource,
  Revision,
} from "../../autoscaler/kubernetes/objects.ts";
import { trimMeta, trimPod, trimRevision } from "../../autoscaler/kubernetes/trim.ts";
import type { Clock } from "../../common/clock.ts";
import { createRandom } from "../../common/random.ts";
import type { Logger } from "../../foundation/logger.ts";

export interface WatchedOptions {
  readonly client: ApiClient;
  readonly systemNamespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Watched {
  services(): readonly ClusterService[];
  /** Pods of activators, as they stand. */
  activators(): readonly Pod[];
  /** What has not been listed yet; empty once all has. */
  unready(): string;
  start(): void;
  stop(): Promise<void>;
}

const ACTIVATORS = "pilotlight.dev/part=activator";

/** Pods of revisions are no part of it: of those routing knows more, and there may be 50,000. */
export function watchCluster(options: WatchedOptions): Watched {
  const { systemNamespace, logger } = options;
  const copy = collector(options);
  const services = copy<KnativeService>("services", { trim: trimMeta });
  const revisions = copy<Revision>("revisions", { trim: trimRevision });
  const scalers = copy<PodAutoscaler>("podautoscalers", { trim: trimMeta });
  const own = { namespace: systemNamespace };
  const maps = copy<ConfigMap>("configmaps", { ...own, trim: trimMeta });
  const pods = copy<Pod>("pods", { ...own, labelSelector: ACTIVATORS, trim: trimPod });
  const defaults = watchClusterDefaults({
    maps,
    namespace: systemNamespace,
    base: STOCK_DEFAULTS,
    logger,
  });
  const all = [services, revisions, scalers, maps, pods];
  return {
    services: () =>
      clusterServices({
        services: [...services.values()],
        revisions: [...revisions.values()],
        scalers: [...scalers.values()],
        pods: [],
        defaults: defaults.current,
      }),
    activators: () => [...pods.values()],
    unready: () => {
      const missing = all.map(({ stats }) => stats).filter(({ confirmedAt }) => confirmedAt === 0);
      if (missing.length === 0) return "";
      return `${missing.map(({ name }) => name).join(", ")} have not been listed yet`;
    },
    start: () => {
      for (const collection of all) collection.start();
    },
    stop: async () => {
      await Promise.all(all.map((collection) => collection.stop()));
    },
  };
}

interface CopyHow<T> {
  readonly trim: (object: T) => T;
  readonly labelSelector?: string;
  readonly namespace?: string;
}

function collector({ client, clock, logger }: WatchedOptions) {
  const random = createRandom(process.pid);
  return <T extends KubeObject>(name: Resource, how: CopyHow<T>): Collection<T> => {
    const { namespace, ...rest } = how;
    const path = collectionPath(name, namespace);
    return new Collection<T>({ name, client, clock, random, logger, path, ...rest });
  };
}
