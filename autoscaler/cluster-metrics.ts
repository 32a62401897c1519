/** What a process of a cluster says of its watches, its leadership and its configuration. */

export const CLUSTER_METRICS = {
  watchAge: [
    "pilotlight_autoscaler_watch_age_seconds",
    "Time since the copy of these objects was last known to be whole",
  ],
  lists: ["pilotlight_autoscaler_watch_lists_total", "Whole lists of these objects"],
  watchFailures: ["pilotlight_autoscaler_watch_failures_total", "Watches that broke"],
  objects: ["pilotlight_autoscaler_objects", "Objects in the copy"],
  leading: ["pilotlight_autoscaler_leading_shards", "Shards of revisions that this process leads"],
  configFaults: [
    "pilotlight_autoscaler_configuration_faults",
    "Faults in the ConfigMaps; above 0 the last good values are in force",
  ],
  networkFailing: [
    "pilotlight_autoscaler_failing_networks",
    "ServerlessServices that could not be written at the last try",
  ],
} as const;

/** One kind of objects, as `Collection` counts it. */
interface CopyStats {
  readonly name: string;
  readonly objects: number;
  readonly confirmedAt: number;
  readonly lists: number;
  readonly failures: number;
}

export interface ClusterFigures {
  readonly now: number;
  readonly copies: readonly CopyStats[];
  readonly leadingShards: number;
  readonly configFaults: number;
  readonly failingNetworks: number;
}

/** The page in the exposition format. */
export function renderClusterMetrics(figures: ClusterFigures): string {
  const { copies, now } = figures;
  const ofCopies = (value: (copy: CopyStats) => number | null): string[] =>
    copies.flatMap((copy) => {
      const number = value(copy);
      return number === null ? [] : [`{resource="${copy.name}"} ${number}`];
    });
  const ages = ofCopies(({ confirmedAt }) =>
    confirmedAt === 0 ? null : Math.max(0, now - confirmedAt) / 1_000,
  );
  const blocks = [
    block(CLUSTER_METRICS.watchAge, "gauge", ages),
    block(
      CLUSTER_METRICS.lists,
      "counter",
      ofCopies(({ lists }) => lists),
    ),
    block(
      CLUSTER_METRICS.watchFailures,
      "counter",
      ofCopies(({ failures }) => failures),
    ),
    block(
      CLUSTER_METRICS.objects,
      "gauge",
      ofCopies(({ objects }) => objects),
    ),
    block(CLUSTER_METRICS.leading, "gauge", [` ${figures.leadingShards}`]),
    block(CLUSTER_METRICS.configFaults, "gauge", [` ${figures.configFaults}`]),
    block(CLUSTER_METRICS.networkFailing, "gauge", [` ${figures.failingNetworks}`]),
  ];
  return `${blocks.join("\n")}\n`;
}

function block(
  [name, help]: readonly [string, string],
  type: "counter" | "gauge",
  samples: readonly string[],
): string {
  const lines = samples.map((sample) => `${name}${sample}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join("\n");
}
