/**
 * The stock ConfigMaps as cluster defaults, live. A faulty map leaves the last good values in force
 * and is named in the log and in a metric until it is mended.
 */
import type { Logger } from "../../foundation/logger.ts";
import { readClusterDefaults } from "../core/settings/config-maps.ts";
import type { ClusterDefaults } from "../core/settings/defaults.ts";
import type { Collection } from "./collection.ts";
import { keyOf } from "./objects.ts";
import type { ConfigMap } from "./objects.ts";

export interface DefaultsWatchOptions {
  readonly maps: Collection<ConfigMap>;
  readonly namespace: string;
  /** What a missing key means. */
  readonly base: ClusterDefaults;
  readonly logger: Logger;
}

export interface DefaultsWatch {
  readonly current: ClusterDefaults;
  /** Of the maps as they stand; not empty: older values are in force. */
  readonly faults: readonly string[];
  onChange(listener: (defaults: ClusterDefaults) => void): void;
}

const MAPS = {
  autoscaler: "config-autoscaler",
  defaults: "config-defaults",
  deployment: "config-deployment",
} as const;

export function watchClusterDefaults(options: DefaultsWatchOptions): DefaultsWatch {
  const { maps, namespace, base, logger } = options;
  const names: readonly string[] = Object.values(MAPS).map((name) => keyOf(namespace, name));
  const listeners: ((defaults: ClusterDefaults) => void)[] = [];
  let current = base;
  let faults: readonly string[] = [];

  const read = (): void => {
    const dataOf = (name: string): Readonly<Record<string, string>> =>
      maps.get(keyOf(namespace, name))?.data ?? {};
    const result = readClusterDefaults(
      {
        autoscaler: dataOf(MAPS.autoscaler),
        defaults: dataOf(MAPS.defaults),
        deployment: dataOf(MAPS.deployment),
      },
      base,
      current,
    );
    if (result.errors.length > 0 && result.errors.join("\n") !== faults.join("\n")) {
      logger.error("configuration refused, the last good one stays", { faults: result.errors });
    }
    faults = result.errors;
    if (JSON.stringify(result.defaults) === JSON.stringify(current)) return;
    current = result.defaults;
    logger.info("configuration taken", { ...current });
    for (const listener of listeners) listener(current);
  };
  maps.onChange(({ key }) => {
    if (names.includes(key)) read();
  });
  return {
    get current() {
      return current;
    },
    get faults() {
      return faults;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
