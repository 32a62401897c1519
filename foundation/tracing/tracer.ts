/**
 * Traces of one process: which requests are followed, and the spans of those that are. A request
 * whose caller has decided is followed or not as the caller says; others by the sampling rate.
 */
import { formatTraceparent, parseTraceparent } from "../../common/trace-context.ts";
import { OtlpExporter } from "./otlp-exporter.ts";
import type { ExporterOptions } from "./otlp-exporter.ts";
import type { FinishedSpan, SpanAttributes } from "./span.ts";

export interface TracerOptions extends ExporterOptions {
  /** Share of the traces that begin here, 0 to 1. */
  readonly samplingRate: number;
}

/** One request that passes here. */
export interface Trace {
  /** For the next hop: the same trace, with our span as the caller. */
  readonly traceparent: string;
  readonly isSampled: boolean;
  /** The span of the request as a whole; its parts come before it. */
  end(span: EndedSpan): void;
  /** A part of it; nothing for one without length. */
  part(name: string, startAt: number, endAt: number): void;
}

export interface EndedSpan {
  readonly name: string;
  readonly startAt: number;
  readonly endAt: number;
  readonly attributes: SpanAttributes;
  readonly isError: boolean;
}

export interface Tracer {
  begin(traceparent: string): Trace;
  /** Spans that the collector took, and those that were dropped. */
  counts(): { readonly sent: number; readonly dropped: number };
  close(): Promise<void>;
}

/** Random bytes are drawn in blocks: a call per span costs more than all else. */
const BLOCK_BYTES = 4_096;
const SPAN_ID_BYTES = 8;
const TRACE_ID_BYTES = 16;

export function createTracer(options: TracerOptions): Tracer {
  const exporter = new OtlpExporter(options);
  const draw = hexDice();
  return {
    begin: (text) => {
      const parent = parseTraceparent(text);
      const traceId = parent?.traceId ?? draw(TRACE_ID_BYTES);
      const isSampled = parent?.isSampled ?? isChosen(traceId, options.samplingRate);
      const spanId = draw(SPAN_ID_BYTES);
      const traceparent = formatTraceparent({ traceId, spanId, isSampled });
      const add = (span: Omit<FinishedSpan, "traceId">): void => {
        if (isSampled) exporter.add({ traceId, ...span });
      };
      return {
        traceparent,
        isSampled,
        end: (span) => add({ ...span, spanId, parentId: parent?.spanId ?? "", kind: "server" }),
        part: (name, startAt, endAt) => {
          if (!isSampled || endAt <= startAt) return;
          const own = { spanId: draw(SPAN_ID_BYTES), parentId: spanId, kind: "internal" } as const;
          add({ ...own, name, startAt, endAt, attributes: {}, isError: false });
        },
      };
    },
    counts: () => ({ sent: exporter.sent, dropped: exporter.dropped }),
    close: () => exporter.flush(),
  };
}

/** By the id, so that all processes without a word of the caller would choose the same. */
function isChosen(traceId: string, rate: number): boolean {
  if (rate >= 1) return true;
  return Number.parseInt(traceId.slice(-8), 16) / 2 ** 32 < rate;
}

function hexDice(): (bytes: number) => string {
  // Not imported: a bundle that holds this file without using it would load the module at its start.
  const { randomBytes } = process.getBuiltinModule("node:crypto");
  let block = randomBytes(BLOCK_BYTES);
  let at = 0;
  return (bytes) => {
    if (at + bytes > BLOCK_BYTES) {
      block = randomBytes(BLOCK_BYTES);
      at = 0;
    }
    at += bytes;
    return block.toString("hex", at - bytes, at);
  };
}
