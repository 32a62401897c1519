/** The rules of the cluster for the webhook, live from the stock ConfigMaps. */
import type { Clock } from "../../common/clock.ts";
import type { Random } from "../../common/random.ts";
import type { Logger } from "../../foundation/logger.ts";
import { STOCK_DEFAULTS } from "../core/settings/defaults.ts";
import type { ApiClient } from "../kubernetes/api-client.ts";
import { watchClusterDefaults } from "../kubernetes/cluster-defaults.ts";
import { Collection } from "../kubernetes/collection.ts";
import { collectionPath, keyOf } from "../kubernetes/objects.ts";
import type { ConfigMap } from "../kubernetes/objects.ts";
import type { ClusterRules } from "./judge.ts";

export interface RulesOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RulesWatch {
  current(): ClusterRules;
  /** Why the rules are not known; empty once they are. */
  unready(): string;
  start(): void;
  stop(): Promise<void>;
}

/** Where `config-defaults` leaves the concurrency open, a GPU decides, not stock's "no limit". */
const BASE = { ...STOCK_DEFAULTS, containerConcurrency: null };
const STOCK_CLASS = "kpa.autoscaling.knative.dev";

export function watchRules(options: RulesOptions): RulesWatch {
  const { namespace } = options;
  const maps = new Collection<ConfigMap>({
    ...options,
    name: "configmaps",
    path: collectionPath("configmaps", namespace),
  });
  const defaults = watchClusterDefaults({ ...options, maps, base: BASE });
  return {
    current: () => ({
      defaults: defaults.current,
      defaultClass:
        maps.get(keyOf(namespace, "config-autoscaler"))?.data?.["pod-autoscaler-class"] ??
        STOCK_CLASS,
    }),
    unready: () => (maps.stats.lists > 0 ? "" : "the ConfigMaps have not been listed yet"),
    start: () => maps.start(),
    stop: () => maps.stop(),
  };
}
