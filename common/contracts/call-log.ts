/**
 * The call log of a revision, from which profiles, stage histories and alpha are learnt: one entry
 * per ended call by the activator that held it, and one per sample by the activator that a pod
 * pushes to. JSON texts in a stream of the store; unknown ones are passed over.
 */
import type { CallSample } from "./push.ts";

export interface LoggedCall {
  readonly kind: "call";
  /** Empty for a call of its own. */
  readonly workflow: string;
  readonly tenant: string;
  readonly workflowClass: string;
  readonly stage: string;
  readonly stageIndex: number;
  readonly isFinal: boolean;
  readonly model: string;
  /** Instants in us of the store's clock: of the workflow, and of its stage. */
  readonly workflowArrivedAt: number;
  readonly readyAt: number;
  /** End to end, 0 for none. */
  readonly sloUs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** What was expected, on the card that ran it. */
  readonly expectedUs: number;
  readonly queueMs: number;
  readonly serviceMs: number;
  readonly status: number;
  /** Instant of the end, us since the epoch by the activator's clock. */
  readonly endedAt: number;
}

export interface LoggedSample extends CallSample {
  readonly kind: "sample";
  readonly card: string;
}

export type LogEntry = LoggedCall | LoggedSample;

export function encodeLogEntry(entry: LogEntry): string {
  return JSON.stringify(entry);
}

/** `undefined` for what is none of ours, an entry of a later version included. */
export function decodeLogEntry(text: string): LogEntry | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("kind" in value)) return undefined;
    // Written by `encodeLogEntry` of some version; fields are added, never changed.
    if (value.kind === "call") return value as LoggedCall;
    return value.kind === "sample" ? (value as LoggedSample) : undefined;
  } catch {
    return undefined;
  }
}
