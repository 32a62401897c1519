/**
 * Names, labels and helps of the autoscaler's metrics, and their text. Rendered from the view at
 * each scrape, so the series of a revision go with it and nothing is counted twice.
 */
import type { Condition } from "./core/condition-types.ts";
import { POD_USES } from "./core/pod-time.ts";
import type { AutoscalerView, RevisionScaling } from "./view.ts";

interface GaugeRow {
  readonly name: string;
  readonly help: string;
  /** `null`: no sample for this revision. */
  readonly value: (revision: RevisionScaling) => number | null;
}

/** One sample per revision, labels `namespace` and `revision`. */
export const REVISION_GAUGES: readonly GaugeRow[] = [
  gauge("desired_pods", "Pods asked for after cooldown", (it) => known(it.desiredScale)),
  gauge("wanted_pods", "Pods asked for before cooldown", (it) => known(it.explanation?.want ?? -1)),
  gauge("ready_pods", "Pods that are ready", (it) => it.readyPods),
  gauge("live_pods", "Pods that exist and are not leaving", (it) => it.livePods),
  gauge("mean_concurrency", "Mean of requests in flight over the window", (it) =>
    finite(it.explanation?.load.mean.concurrency),
  ),
  gauge("burst_concurrency", "Mean of requests in flight over the last part of the window", (it) =>
    finite(it.explanation?.load.shortMean.concurrency),
  ),
  gauge("mean_rate", "Arrivals per second over the window", (it) =>
    finite(it.explanation?.load.mean.rate),
  ),
  gauge("target_value", "Load that one pod should carry", (it) =>
    finite(it.explanation?.load.targetValue),
  ),
  gauge("buffer_pods", "Pods asked for as a buffer", (it) => finite(it.explanation?.load.buffer)),
  gauge("waiting_requests", "Requests that wait for a slot", (it) =>
    finite(it.explanation?.waiting),
  ),
  gauge("activators", "Activators that serve the revision", (it) => it.activators),
  gauge("alpha", "Weight of speed against balance", (it) => it.alpha),
  gauge(
    "estimate_error_ratio",
    "Error of the expected times of calls, worst card",
    (it) => it.estimateError,
  ),
  gauge(
    "stages_off",
    "Stages whose expected times have been off for long, on any card",
    (it) => it.stagesOff,
  ),
  gauge("panicking", "1 while the stock algorithm is in panic", (it) => panicking(it)),
  gauge("active", "Condition Active: 1 True, 0 False, -1 Unknown", (it) => active(it.conditions)),
  gauge("start_failed", "1 while starts are given up", (it) => (it.failure === null ? 0 : 1)),
  gauge("settings_refused", "1 while the settings of the revision are faulty", (it) =>
    it.errors.length > 0 ? 1 : 0,
  ),
  gauge("clock_skew_seconds", "Own clock less the clock of the store", (it) =>
    it.figuresAt === 0 ? null : it.clockSkewMs / 1_000,
  ),
];

/** Label `use`: serving, idle, warming, draining or lost. */
export const POD_SECONDS = [
  "pilotlight_autoscaler_pod_seconds_total",
  "Time of pods by what they did, which is what GPUs cost",
] as const;

export const PROCESS_METRICS = {
  decisions: ["pilotlight_autoscaler_decisions_total", "Decisions by what triggered them"],
  changes: ["pilotlight_autoscaler_scale_changes_total", "Changes of a scale by direction"],
  fromZero: ["pilotlight_autoscaler_starts_from_zero_total", "Scales raised from zero"],
  tick: ["pilotlight_autoscaler_tick_seconds", "Start of the last tick to its last reconcile"],
  queue: ["pilotlight_autoscaler_queue_depth", "Revisions that wait for a reconcile"],
  failing: ["pilotlight_autoscaler_failing_revisions", "Revisions whose last reconcile failed"],
} as const;

/** The page in the exposition format. */
export function renderMetrics(view: AutoscalerView): string {
  const blocks = [
    ...REVISION_GAUGES.map((row) => revisionBlock(row, view.revisions)),
    podSecondsBlock(view.revisions),
    ...processBlocks(view),
  ];
  return `${blocks.join("\n")}\n`;
}

function gauge(name: string, help: string, value: GaugeRow["value"]): GaugeRow {
  return { name: `pilotlight_autoscaler_${name}`, help, value };
}

function revisionBlock(row: GaugeRow, revisions: readonly RevisionScaling[]): string {
  const lines = [`# HELP ${row.name} ${row.help}`, `# TYPE ${row.name} gauge`];
  for (const revision of revisions) {
    const value = row.value(revision);
    if (value === null) continue;
    lines.push(`${row.name}{${labelsOf(revision)}} ${value}`);
  }
  return lines.join("\n");
}

function podSecondsBlock(revisions: readonly RevisionScaling[]): string {
  const [name, help] = POD_SECONDS;
  const samples = revisions.flatMap((revision) =>
    POD_USES.map((use) => {
      const seconds = revision.podTime.secondsByUse[use];
      return `{${labelsOf(revision)},use="${use}"} ${seconds}`;
    }),
  );
  return block([name, help], "counter", samples);
}

function labelsOf(revision: RevisionScaling): string {
  const [namespace = "", name = ""] = revision.key.split("/", 2);
  return `namespace="${escaped(namespace)}",revision="${escaped(name)}"`;
}

function processBlocks(view: AutoscalerView): string[] {
  const { totals } = view;
  const counts = Object.entries(totals.byTrigger).map(
    ([trigger, count]) => `{trigger="${trigger}"} ${count}`,
  );
  return [
    block(PROCESS_METRICS.decisions, "counter", counts),
    block(PROCESS_METRICS.changes, "counter", [
      `{direction="up"} ${totals.scaleUps}`,
      `{direction="down"} ${totals.scaleDowns}`,
    ]),
    block(PROCESS_METRICS.fromZero, "counter", [` ${totals.fromZero}`]),
    block(PROCESS_METRICS.tick, "gauge", [` ${totals.tickMs / 1_000}`]),
    block(PROCESS_METRICS.queue, "gauge", [` ${view.queueDepth}`]),
    block(PROCESS_METRICS.failing, "gauge", [` ${view.failing}`]),
  ];
}

function block(
  [name, help]: readonly [string, string],
  type: "counter" | "gauge",
  samples: readonly string[],
): string {
  const lines = samples.map((sample) => `${name}${sample}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join("\n");
}

function known(scale: number): number | null {
  return scale < 0 ? null : scale;
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

function panicking(revision: RevisionScaling): number | null {
  const kpa = revision.explanation?.kpa ?? null;
  if (kpa === null) return null;
  return kpa.panicking ? 1 : 0;
}

function active(conditions: readonly Condition[]): number | null {
  const condition = conditions.find((it) => it.type === "Active");
  if (condition === undefined) return null;
  return { True: 1, False: 0, Unknown: -1 }[condition.status];
}

/** Names come from objects; quotes and breaks must not end a label early. */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
