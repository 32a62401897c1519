/** Trace context as the standard has it, and an exporter that never stands in the way. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { formatTraceparent, parseTraceparent } from "../../../common/trace-context.ts";
import { OtlpExporter } from "../../../foundation/tracing/otlp-exporter.ts";
import type { FinishedSpan } from "../../../foundation/tracing/span.ts";
import { createTracer } from "../../../foundation/tracing/tracer.ts";
import { eventually } from "../../support/eventually.ts";
import { TraceCollector } from "../../support/trace-collector.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("traceparent", () => {
  it("is read and written again", () => {
    const text = `00-${TRACE}-${SPAN}-01`;
    const parent = parseTraceparent(text);
    expect(parent).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
    expect(formatTraceparent(parent ?? { traceId: "", spanId: "", isSampled: false })).toBe(text);
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-02`)?.isSampled).toBe(false);
    // A later version may say more; what we know of it holds.
    expect(parseTraceparent(`01-${TRACE}-${SPAN}-01-more`)?.traceId).toBe(TRACE);
  });

  it.each([
    "",
    "nothing",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
  ])("is refused as %s", (text) => {
    expect(parseTraceparent(text)).toBeNull();
  });
});

describe("spans", () => {
  let collector: TraceCollector;
  let endpoint = "";
  beforeEach(async () => {
    collector = new TraceCollector();
    endpoint = await collector.listen();
  });
  afterEach(() => collector.close());

  const options = (changes: object = {}) => ({
    endpoint,
    resource: { "service.name": "test" },
    onWarning: () => undefined,
    everyMs: 1,
    ...changes,
  });
  const span: FinishedSpan = {
    traceId: TRACE,
    spanId: SPAN,
    parentId: "",
    name: "one",
    kind: "server",
    startAt: 1_800_000_000_000.25,
    endAt: 1_800_000_000_001,
    attributes: { text: "a", whole: 3, part: 0.5, yes: true },
    isError: true,
  };

  it("arrive with their instants to the nanosecond", async () => {
    const exporter = new OtlpExporter(options());
    exporter.add(span);
    await eventually(() => collector.spans.length === 1);
    expect(collector.spans[0]).toMatchObject({
      startTimeUnixNano: "1800000000000250000",
      endTimeUnixNano: "1800000000001000000",
      service: "test",
      attributes: { text: "a", whole: "3", part: "0.5", yes: "true" },
    });
    await eventually(() => exporter.sent === 1);
  });

  it("are dropped, counted and bounded while nobody takes them", async () => {
    collector.refuses = 503;
    const exporter = new OtlpExporter(options({ everyMs: 60_000 }));
    for (let count = 0; count < 300; count += 1) exporter.add(span);
    await exporter.flush();
    expect(exporter.dropped).toBe(300);
    expect(collector.posts).toBe(3);
    expect(exporter.sent).toBe(0);
  });

  it("begin a trace by chance, at the rate that was asked for", () => {
    const tracer = createTracer({ ...options(), samplingRate: 0.25 });
    const count = 4_000;
    const sampled = Array.from({ length: count }, () => tracer.begin("")).filter(
      ({ isSampled }) => isSampled,
    );
    expect(sampled.length / count).toBeGreaterThan(0.2);
    expect(sampled.length / count).toBeLessThan(0.3);
    expect(new Set(sampled.map(({ traceparent }) => traceparent)).size).toBe(sampled.length);
  });
});
