/**
 * Sends finished spans to a collector, OTLP over HTTP in its JSON form: in batches, with a bounded
 * queue that drops what it cannot hold. Never in the way of a request; see decision 0019.
 */
import type { ClientRequest, RequestOptions } from "node:http";
import type { FinishedSpan, SpanAttributes } from "./span.ts";

export interface ExporterOptions {
  /** Base URL of the collector; `/v1/traces` is added where it has no path. */
  readonly endpoint: string;
  /** `service.name` and the like. */
  readonly resource: SpanAttributes;
  readonly onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly everyMs?: number;
}

const EVERY_MS = 2_000;
const MOST_IN_BATCH = 512;
/** Spans that wait; more are dropped and counted. */
const MOST_WAITING = 4_096;
const TIMEOUT_MS = 10_000;
const MOST_TRIES = 3;
/** After this many batches in a row that nobody took, pause. */
const FAILURES_BEFORE_PAUSE = 10;
const PAUSE_MS = 60_000;

export class OtlpExporter {
  readonly #options: ExporterOptions;
  readonly #url: URL;
  readonly #resource: readonly unknown[];
  #waiting: FinishedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;
  #pausedUntil = 0;
  sent = 0;
  dropped = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#url = new URL(options.endpoint);
    if (this.#url.pathname === "/") this.#url.pathname = "/v1/traces";
    this.#resource = attributes(options.resource);
  }

  add(span: FinishedSpan): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.dropped += 1;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= MOST_IN_BATCH) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), this.#options.everyMs ?? EVERY_MS);
    this.#timer?.unref();
  }

  /** Sends what waits; resolves when it was taken or given up. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending !== undefined) await this.#sending;
    const batch = this.#waiting.slice(0, MOST_IN_BATCH);
    if (batch.length === 0) return;
    this.#waiting = this.#waiting.slice(batch.length);
    this.#sending = this.#sendBatch(batch).finally(() => (this.#sending = undefined));
    await this.#sending;
  }

  async #sendBatch(batch: readonly FinishedSpan[]): Promise<void> {
    if (performance.now() < this.#pausedUntil) {
      this.dropped += batch.length;
      return;
    }
    const body = JSON.stringify(this.#envelope(batch));
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      if (await this.#post(body)) {
        this.sent += batch.length;
        this.#failures = 0;
        return;
      }
    }
    this.dropped += batch.length;
    this.#failures += 1;
    if (this.#failures < FAILURES_BEFORE_PAUSE) return;
    this.#pausedUntil = performance.now() + PAUSE_MS;
    this.#failures = 0;
    this.#options.onWarning("traces not taken, pausing", { endpoint: this.#url.href });
  }

  async #post(body: string): Promise<boolean> {
    const send = requestOf(this.#url);
    return new Promise((resolve) => {
      const outgoing = send(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
        timeout: TIMEOUT_MS,
        agent: false,
      });
      outgoing.on("response", (response) => {
        response.resume();
        resolve((response.statusCode ?? 500) < 300);
      });
      outgoing.on("timeout", () => outgoing.destroy());
      outgoing.on("error", () => resolve(false));
      outgoing.end(body);
    });
  }

  #envelope(batch: readonly FinishedSpan[]): unknown {
    return {
      resourceSpans: [
        {
          resource: { attributes: this.#resource },
          scopeSpans: [{ scope: { name: "pilotlight" }, spans: batch.map(encode) }],
        },
      ],
    };
  }
}

type Send = (url: URL, options: RequestOptions) => ClientRequest;

/** Fetched here, since few processes send traces and an import costs every start. */
function requestOf(url: URL): Send {
  const { request } = process.getBuiltinModule(
    url.protocol === "http:" ? "node:http" : "node:https",
  );
  return (to, options) => request(to, options);
}

const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

function encode(span: FinishedSpan): unknown {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentId === "" ? {} : { parentSpanId: span.parentId }),
    name: span.name,
    kind: SPAN_KINDS[span.kind],
    startTimeUnixNano: nanos(span.startAt),
    endTimeUnixNano: nanos(Math.max(span.startAt, span.endAt)),
    attributes: attributes(span.attributes),
    ...(span.isError ? { status: { code: STATUS_ERROR } } : {}),
  };
}

/** Whole nanoseconds as text: a number of that size loses its last digits. */
function nanos(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${String(Math.floor((ms - whole) * 1e6)).padStart(6, "0")}`;
}

function attributes(values: SpanAttributes): readonly unknown[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: string | number | boolean): unknown {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "string") return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
