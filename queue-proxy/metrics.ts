/**
 * Counters of the data path in typed arrays, and their page on port 9091: stock Knative's names
 * (contract 2.15) and ours.
 */

import { StatusHistogram } from "./status-histogram.ts";

const BOUNDS_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const;
/** Bounds that an OpenTelemetry histogram has when nobody chose others, as stock's here. */
const BOUNDS_BYTES = [
  0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000,
] as const;

/** Body bytes of one request, both ways. */
export interface BodyBytes {
  readonly up: number;
  readonly down: number;
}

const NO_BYTES: BodyBytes = { up: 0, down: 0 };
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
  readonly #durations = new StatusHistogram(BOUNDS_SECONDS);
  readonly #requestBytes = new StatusHistogram(BOUNDS_BYTES);
  readonly #responseBytes = new StatusHistogram(BOUNDS_BYTES);
  readonly #counters = new Float64Array(COUNTER_NAMES.length);
  #depth = 0;

  observe(status: number, seconds: number, bytes: BodyBytes = NO_BYTES): void {
    this.#durations.observe(status, seconds);
    this.#requestBytes.observe(status, bytes.up);
    this.#responseBytes.observe(status, bytes.down);
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
      ...this.#durations.render("kn_serving_invocation_duration_seconds", "Duration of requests."),
      ...this.#durations.render("http_server_request_duration_seconds", "Duration of requests."),
      ...this.#requestBytes.render("http_server_request_body_size_bytes", "Bodies of requests."),
      ...this.#responseBytes.render("http_server_response_body_size_bytes", "Bodies of answers."),
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
}

function gauge(name: string, help: string, value: number): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${value}`];
}
