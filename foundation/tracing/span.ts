/** What a finished span is; apart from its export, so that the sides that make spans know no more. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface FinishedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: "server" | "client" | "internal";
  /** ms since the epoch, with fractions. */
  readonly startAt: number;
  readonly endAt: number;
  readonly attributes: SpanAttributes;
  readonly isError: boolean;
}
