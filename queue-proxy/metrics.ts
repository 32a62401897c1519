/**
 * Counters of the data path in typed arrays, and their page on port 9091: stock Knative's names
 * (contract 2.15) and ours. Bounded: one row per status code that was seen, at most MAX_STATUSES.
 */

const BOUNDS_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const;
/** Codes beyond these many share the row 0. */
const MAX_STATUSES = 64;
const SUM = BOUNDS_SECONDS.length + 1;
const COUNTER_NAMES = [
  "cancelled",
  "misdirected",
  "pod_full",
  "queue_full",
  "refused_draining",
  "retried",
  "terminated",
  "timed_out",
  "upstream_failed",
] as const;
export type CounterName = (typeof COUNTER_NAMES)[number];

export interface Gauges {
  readonly open: number;
  readonly waiting: number;
  readonly occupied: number;
  readonly capacity: number;
  readonly isReady: boolean;
  readonly boot: number;
}

export class RequestMetrics {
  /** Buckets, then the overflow bucket, then the sum. */
  readonly #rows = new Map<number, Float64Array>();
  readonly #counters = new Float64Array(COUNTER_NAMES.length);
  #depth = 0;

  observe(status: number, seconds: number): void {
    const row = this.#row(status);
    let index = 0;
    while (index < BOUNDS_SECONDS.length && seconds > (BOUNDS_SECONDS[index] ?? 0)) index += 1;
    row[index] = (row[index] ?? 0) + 1;
    row[SUM] = (row[SUM] ?? 0) + seconds;
  }

  /** In flight and queued at the moment a request starts, as stock samples it. */
  sampleDepth(depth: number): void {
    this.#depth = depth;
  }

  count(name: CounterName): void {
    const index = COUNTER_NAMES.indexOf(name);
    this.#counters[index] = (this.#counters[index] ?? 0) + 1;
  }

  render(gauges: Gauges): string {
    return [
      ...this.#histogram("kn_serving_invocation_duration_seconds", "Duration of requests."),
      ...this.#histogram("http_server_request_duration_seconds", "Duration of requests."),
      ...(gauges.capacity === 0
        ? []
        : gauge(
            "kn_serving_queue_depth",
            "Requests in flight and queued, when the last one started.",
            this.#depth,
          )),
      ...gauge(
        "pilotlight_queue_proxy_open_requests",
        "Requests open to the container.",
        gauges.open,
      ),
      ...gauge(
        "pilotlight_queue_proxy_waiting_requests",
        "Requests that wait here.",
        gauges.waiting,
      ),
      ...gauge(
        "pilotlight_queue_proxy_occupied_slots",
        "Slots busy for callers that left.",
        gauges.occupied,
      ),
      ...gauge("pilotlight_queue_proxy_ready", "1 when the pod is ready.", gauges.isReady ? 1 : 0),
      ...gauge("pilotlight_queue_proxy_boot", "Number of this life.", gauges.boot),
      "# HELP pilotlight_queue_proxy_requests_total Requests with a special end.",
      "# TYPE pilotlight_queue_proxy_requests_total counter",
      ...COUNTER_NAMES.map(
        (name, index) =>
          `pilotlight_queue_proxy_requests_total{end="${name}"} ${this.#counters[index] ?? 0}`,
      ),
      "",
    ].join("\n");
  }

  #row(status: number): Float64Array {
    const known = this.#rows.get(status);
    if (known !== undefined) return known;
    if (this.#rows.size >= MAX_STATUSES && status !== 0) return this.#row(0);
    const row = new Float64Array(SUM + 1);
    this.#rows.set(status, row);
    return row;
  }

  #histogram(name: string, help: string): string[] {
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    for (const [status, row] of this.#rows) {
      const label = `http_response_status_code="${status}"`;
      let total = 0;
      for (const [index, bound] of BOUNDS_SECONDS.entries()) {
        total += row[index] ?? 0;
        lines.push(`${name}_bucket{${label},le="${bound}"} ${total}`);
      }
      total += row[BOUNDS_SECONDS.length] ?? 0;
      lines.push(`${name}_bucket{${label},le="+Inf"} ${total}`);
      lines.push(`${name}_sum{${label}} ${row[SUM] ?? 0}`, `${name}_count{${label}} ${total}`);
    }
    return lines;
  }
}

function gauge(name: string, help: string, value: number): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${value}`];
}
