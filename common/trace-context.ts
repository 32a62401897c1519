/**
 * W3C trace context (version 00): reads the header that names a trace and its caller, and writes
 * the one for the next hop. Pure; identities come from whoever has dice.
 */

export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the span of whoever calls. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

export const TRACEPARENT_HEADER = "traceparent";

/** Version `ff` is none; version `00` ends with its flags, later ones may say more. */
const FORM =
  /^(?:00(?!-.*-.*-.*-)|(?!00|ff)[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?:-.*)?$/;
const NOTHING = /^0+$/;
const SAMPLED = 1;

/** Null for what the standard calls invalid: then the trace begins here. */
export function parseTraceparent(text: string): TraceParent | null {
  const match = FORM.exec(text.trim());
  if (match === null) return null;
  const { traceId = "", spanId = "", flags = "" } = match.groups ?? {};
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return null;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  return { traceId, spanId, isSampled };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}
