/** The parts of `OBSERVABILITY_CONFIG` (contract 2.2) that this process follows. */

export interface Observability {
  readonly enableRequestLog: boolean;
  readonly enableProbeRequestLog: boolean;
  readonly requestLogTemplate: string;
  /** `host:port` of the metrics page; undefined while no protocol asks for a page. */
  readonly metricsListen: string | undefined;
  /** Where traces go; undefined while nobody asks for them. */
  readonly tracing?: TracingSettings;
}

export interface TracingSettings {
  /** Base URL of a collector that takes OTLP over HTTP. */
  readonly endpoint: string;
  /** Share of the requests without a caller's decision, 0 to 1. */
  readonly samplingRate: number;
}

const METRICS_ADDRESS = "0.0.0.0:9091";

/**
 * Stock's default is no page. Where the variable is absent altogether nobody configures anything,
 * as in local mode, and the page is served.
 */
export function parseObservability(value: string | undefined): Observability {
  if (value === undefined) return { ...NOTHING, metricsListen: METRICS_ADDRESS };
  const parsed: unknown = value.trim() === "" ? {} : JSON.parse(value);
  if (typeof parsed !== "object" || parsed === null) throw new Error("expected a JSON object");
  const fields: Partial<Record<string, unknown>> = { ...parsed };
  return {
    enableRequestLog: fields["enableRequestLog"] === true,
    enableProbeRequestLog: fields["enableProbeRequestLog"] === true,
    requestLogTemplate: textOf(fields["requestLogTemplate"]),
    metricsListen: metricsListen(fields["requestMetrics"]),
    ...tracingOf(fields["tracing"]),
  };
}

const NOTHING: Observability = {
  enableRequestLog: false,
  enableProbeRequestLog: false,
  requestLogTemplate: "",
  metricsListen: undefined,
};

/** OTLP over HTTP alone; `grpc` and `stdout` are for other programs. */
function tracingOf(settings: unknown): { readonly tracing?: TracingSettings } {
  if (typeof settings !== "object" || settings === null) return {};
  const fields: { protocol?: unknown; endpoint?: unknown; samplingRate?: unknown } = settings;
  const endpoint = textOf(fields.endpoint);
  if (fields.protocol !== "http/protobuf" || !URL.canParse(endpoint)) return {};
  const rate = Number(fields.samplingRate ?? 0);
  return { tracing: { endpoint, samplingRate: Number.isNaN(rate) ? 0 : rate } };
}

function metricsListen(settings: unknown): string | undefined {
  if (typeof settings !== "object" || settings === null) return undefined;
  const { protocol, endpoint }: { protocol?: unknown; endpoint?: unknown } = settings;
  if (protocol !== "prometheus") return undefined;
  const address = textOf(endpoint);
  return address === "" ? METRICS_ADDRESS : address;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
