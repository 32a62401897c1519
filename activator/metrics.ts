/**
 * Counters of the hot path: typed arrays, one set per revision in use, resolved once per request
 * and rendered when somebody scrapes. They go with the revision, so nothing grows with churn.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";

/** Upper bounds in ms; the last bucket is everything above. */
export const BUCKETS_MS = [
  0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000,
  120_000, 300_000, 600_000,
] as const;

export const HISTOGRAMS = [
  ["route", "pilotlight_run_route_time_ms", "From the request head to the head sent to the pod."],
  ["queue", "pilotlight_run_queue_time_ms", "Waiting for a slot while pods existed."],
  ["coldStart", "pilotlight_run_coldstart_time_ms", "Waiting for a first pod, of those that did."],
  ["connect", "pilotlight_run_connect_time_ms", "From the grant of a slot to a connection."],
  ["upstream", "pilotlight_run_upstream_time_ms", "From the connection to the answer's head."],
  ["execution", "pilotlight_run_execution_time_ms", "From the grant of a slot to the end."],
  ["response", "pilotlight_run_response_time_ms", "From the request head to the end."],
] as const;
export type HistogramName = (typeof HISTOGRAMS)[number][0];

export const COUNTERS = [
  ["runs", "pilotlight_run_total", "Requests that ended."],
  ["successes", "pilotlight_run_successes", "Requests answered below status 500."],
  ["cancelled", "pilotlight_run_cancelled", "Requests whose caller left."],
  ["coldStarts", "pilotlight_run_coldstarts", "Requests that waited for a first pod."],
  ["choices", "pilotlight_choices_total", "Slots granted to requests here."],
] as const;
export type CounterName = (typeof COUNTERS)[number][0];

/** Words of `Pilotlight-Reason` and of reroute causes are few; anything beyond is counted as one. */
const MAX_WORDS = 32;
const WAITS_KEPT = 100;

class Histogram {
  readonly counts = new Float64Array(BUCKETS_MS.length + 1);
  sum = 0;

  observe(value: number): void {
    this.sum += value;
    let bucket = 0;
    while (bucket < BUCKETS_MS.length && value > (BUCKETS_MS[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
  }
}

export class RevisionMetrics {
  readonly service: string;
  readonly revision: RevisionKey;
  readonly errors = new Map<string, number>();
  readonly reroutes = new Map<string, number>();
  /** Asynchronous runs that ended here, by state. */
  readonly runStates = new Map<string, number>();
  /** Answers that were sent to webhooks or could not be, by outcome. */
  readonly deliveries = new Map<string, number>();
  readonly #counters = new Float64Array(COUNTERS.length);
  readonly #histograms = HISTOGRAMS.map(() => new Histogram());
  readonly #waits = new Float64Array(WAITS_KEPT);
  #waitCount = 0;

  constructor(revision: RevisionKey, service: string) {
    this.revision = revision;
    this.service = service;
  }

  count(name: CounterName): void {
    const index = COUNTER_INDEX[name];
    this.#counters[index] = (this.#counters[index] ?? 0) + 1;
  }

  counter(name: CounterName): number {
    return this.#counters[COUNTER_INDEX[name]] ?? 0;
  }

  observe(name: HistogramName, ms: number): void {
    this.#histograms[HISTOGRAM_INDEX[name]]?.observe(ms);
  }

  histogram(name: HistogramName): { readonly counts: Float64Array; readonly sum: number } {
    return this.#histograms[HISTOGRAM_INDEX[name]] ?? new Histogram();
  }

  countError(reason: string): void {
    countWord(this.errors, reason);
  }

  countRun(state: string): void {
    countWord(this.runStates, state);
  }

  countDelivery(outcome: string): void {
    countWord(this.deliveries, outcome);
  }

  countReroute(cause: string): void {
    countWord(this.reroutes, cause);
  }

  /** Remembers how long a served request waited, for the hint to those that are refused. */
  rememberWait(ms: number): void {
    this.#waits[this.#waitCount % WAITS_KEPT] = ms;
    this.#waitCount += 1;
  }

  /** Median wait of the last hundred; 0 when none is known. */
  medianWaitMs(): number {
    const known = this.#waits.slice(0, Math.min(this.#waitCount, WAITS_KEPT)).toSorted();
    return known[Math.floor(known.length / 2)] ?? 0;
  }
}

const COUNTER_INDEX = indexOf(COUNTERS);
const HISTOGRAM_INDEX = indexOf(HISTOGRAMS);

/** What is shown of a revision beside its counters. */
export interface RevisionGauges {
  readonly metrics: RevisionMetrics;
  readonly waiting: number;
  readonly running: number;
}

export function renderMetrics(revisions: Iterable<RevisionGauges>): string {
  const shown = [...revisions];
  const lines: string[] = [];
  COUNTERS.forEach(([name, series, help]) => {
    head(lines, { series, help, type: "counter" });
    for (const { metrics } of shown) {
      lines.push(`${series}${labels(metrics)} ${metrics.counter(name)}`);
    }
  });
  renderWords(lines, shown, {
    series: "pilotlight_run_errors",
    help: "Requests that ended in an error, by reason.",
    label: "reason",
    words: (metrics) => metrics.errors,
  });
  renderWords(lines, shown, {
    series: "pilotlight_reroutes_total",
    help: "Attempts that were followed by another, by cause.",
    label: "cause",
    words: (metrics) => metrics.reroutes,
  });
  renderWords(lines, shown, {
    series: "pilotlight_async_runs_total",
    help: "Asynchronous runs that ended, by state.",
    label: "state",
    words: (metrics) => metrics.runStates,
  });
  renderWords(lines, shown, {
    series: "pilotlight_webhook_deliveries_total",
    help: "Answers sent to webhooks, by outcome.",
    label: "outcome",
    words: (metrics) => metrics.deliveries,
  });
  renderGauges(lines, shown);
  for (const row of HISTOGRAMS) renderHistogram(lines, shown, row);
  return `${lines.join("\n")}\n`;
}

function renderGauges(lines: string[], shown: readonly RevisionGauges[]): void {
  const rows = [
    ["pilotlight_requests_waiting", "Requests that wait here.", "waiting"],
    ["pilotlight_requests_running", "Requests that hold a slot here.", "running"],
  ] as const;
  for (const [series, help, field] of rows) {
    head(lines, { series, help, type: "gauge" });
    for (const gauges of shown) lines.push(`${series}${labels(gauges.metrics)} ${gauges[field]}`);
  }
}

interface WordSeries {
  readonly series: string;
  readonly help: string;
  readonly label: string;
  readonly words: (metrics: RevisionMetrics) => ReadonlyMap<string, number>;
}

function renderWords(lines: string[], shown: readonly RevisionGauges[], row: WordSeries): void {
  head(lines, { series: row.series, help: row.help, type: "counter" });
  for (const { metrics } of shown) {
    for (const [word, count] of row.words(metrics)) {
      lines.push(`${row.series}${labels(metrics, `,${row.label}="${word}"`)} ${count}`);
    }
  }
}

function renderHistogram(
  lines: string[],
  shown: readonly RevisionGauges[],
  [name, series, help]: (typeof HISTOGRAMS)[number],
): void {
  head(lines, { series, help, type: "histogram" });
  for (const { metrics } of shown) {
    const { counts, sum } = metrics.histogram(name);
    // Most revisions have no cold start most of the time: twenty lines of zeros less.
    if (counts.every((count) => count === 0)) continue;
    let total = 0;
    counts.forEach((count, bucket) => {
      total += count;
      const bound = BUCKETS_MS[bucket] ?? "+Inf";
      lines.push(`${series}_bucket${labels(metrics, `,le="${bound}"`)} ${total}`);
    });
    lines.push(
      `${series}_sum${labels(metrics)} ${sum}`,
      `${series}_count${labels(metrics)} ${total}`,
    );
  }
}

interface SeriesHead {
  readonly series: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
}

function head(lines: string[], { series, help, type }: SeriesHead): void {
  lines.push(`# HELP ${series} ${help}`, `# TYPE ${series} ${type}`);
}

/** Kubernetes names need no escaping in labels. */
function labels(metrics: RevisionMetrics, more = ""): string {
  const [namespace = "", revision = ""] = metrics.revision.split("/");
  return `{namespace="${namespace}",service="${metrics.service}",revision="${revision}"${more}}`;
}

function countWord(words: Map<string, number>, word: string): void {
  const known = words.has(word) || words.size < MAX_WORDS ? word : "other";
  words.set(known, (words.get(known) ?? 0) + 1);
}

function indexOf<const T extends readonly (readonly [string, ...unknown[]])[]>(
  rows: T,
): Readonly<Record<T[number][0], number>> {
  return Object.fromEntries(rows.map(([name], index) => [name, index])) as Record<
    T[number][0],
    number
  >;
}
