/**
 * The headers by which a caller says that a call belongs to a workflow, and their parser. A
 * malformed header is left out and named in the warnings; it never fails the call.
 */
import type { Template } from "../hexgen/template.ts";
import { parseTemplateHint } from "../hexgen/template.ts";

export const WORKFLOW_ID_HEADER = "x-workflow-id";
export const WORKFLOW_CLASS_HEADER = "x-workflow-class";
export const WORKFLOW_STAGE_HEADER = "x-workflow-stage";
export const WORKFLOW_STAGE_INDEX_HEADER = "x-workflow-stage-index";
export const WORKFLOW_CALL_ID_HEADER = "x-workflow-call-id";
export const WORKFLOW_FANOUT_HEADER = "x-workflow-fanout";
export const WORKFLOW_REMAINING_HEADER = "x-workflow-remaining";
export const WORKFLOW_SLO_HEADER = "x-workflow-slo-ms";
export const WORKFLOW_DEADLINE_HEADER = "x-workflow-deadline-ms";
export const WORKFLOW_FINAL_HEADER = "x-workflow-final";
export const OUTPUT_HINT_HEADER = "x-output-tokens-hint";
/** Aliases of an inference gateway: objective of the first token, and of each further one. */
export const SLO_TTFT_HEADER = "x-slo-ttft-ms";
export const SLO_TPOT_HEADER = "x-slo-tpot-ms";
export const TENANT_ID_HEADER = "x-tenant-id";
/** Aliases of the tenant; the first one present holds, and only from trusted gateways. */
export const TENANT_ALIAS_HEADERS = [
  "x-gateway-inference-fairness-id",
  "x-llm-d-inference-fairness-id",
] as const;

/** Any of these makes a request one that is ranked and weighed. */
export const RANK_HEADERS = [
  WORKFLOW_ID_HEADER,
  WORKFLOW_CLASS_HEADER,
  WORKFLOW_STAGE_HEADER,
  WORKFLOW_STAGE_INDEX_HEADER,
  WORKFLOW_CALL_ID_HEADER,
  WORKFLOW_FANOUT_HEADER,
  WORKFLOW_REMAINING_HEADER,
  WORKFLOW_SLO_HEADER,
  WORKFLOW_DEADLINE_HEADER,
  WORKFLOW_FINAL_HEADER,
  OUTPUT_HINT_HEADER,
  SLO_TTFT_HEADER,
  SLO_TPOT_HEADER,
] as const;

/** On answers, with debug asked for: estimate, time in queues, latest start. */
export const SCHED_ESTIMATE_HEADER = "x-sched-est-ms";
export const SCHED_QUEUE_HEADER = "x-sched-queue-ms";
export const SCHED_LATEST_START_HEADER = "x-sched-latest-start-ms";

export interface WorkflowHeaders {
  /** Absent: the call is a workflow of one stage. */
  readonly workflowId?: string;
  readonly workflowClass?: string;
  readonly stage?: string;
  readonly stageIndex?: number;
  readonly callId?: string;
  readonly fanout?: { readonly position: number; readonly of: number };
  readonly remaining?: Template;
  readonly sloMs?: number;
  /** Instant, ms since the epoch. */
  readonly deadlineAt?: number;
  readonly isFinal: boolean;
  readonly outputTokensHint?: number;
  readonly firstTokenSloMs?: number;
  readonly perTokenSloMs?: number;
  /** As sent; believed only when the connection comes from a trusted gateway. */
  readonly tenant?: string;
  /** Names of the headers that were left out because they are malformed. */
  readonly malformed: readonly string[];
}

type HeaderLookup = (name: string) => string | undefined;

const MAX_ID_CHARACTERS = 128;
const LARGEST_SLO_MS = 86_400_000;
const LARGEST_INSTANT_MS = 8_640_000_000_000_000;
const LARGEST_COUNT = 1_000_000;

/** Reads the workflow headers through a lookup by lower-case name. */
export function parseWorkflowHeaders(lookup: HeaderLookup): WorkflowHeaders {
  const malformed: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T | undefined): T | undefined => {
    const text = lookup(name)?.trim();
    if (text === undefined || text === "") return undefined;
    const value = parse(text);
    if (value === undefined) malformed.push(name);
    return value;
  };
  const parsed = {
    workflowId: read(WORKFLOW_ID_HEADER, parseId),
    workflowClass: read(WORKFLOW_CLASS_HEADER, parseId),
    stage: read(WORKFLOW_STAGE_HEADER, parseId),
    stageIndex: read(WORKFLOW_STAGE_INDEX_HEADER, (text) => parseWhole(text, LARGEST_COUNT)),
    callId: read(WORKFLOW_CALL_ID_HEADER, parseId),
    fanout: read(WORKFLOW_FANOUT_HEADER, parseFanout),
    remaining: read(WORKFLOW_REMAINING_HEADER, parseTemplateHint),
    sloMs: read(WORKFLOW_SLO_HEADER, (text) => parseDuration(text)),
    deadlineAt: read(WORKFLOW_DEADLINE_HEADER, (text) => parseWhole(text, LARGEST_INSTANT_MS)),
    isFinal: read(WORKFLOW_FINAL_HEADER, parseFlag) ?? false,
    outputTokensHint: read(OUTPUT_HINT_HEADER, (text) => parseWhole(text, LARGEST_COUNT)),
    firstTokenSloMs: read(SLO_TTFT_HEADER, (text) => parseDuration(text)),
    perTokenSloMs: read(SLO_TPOT_HEADER, (text) => parseDuration(text)),
    tenant: readTenant(read),
    malformed,
  };
  return withoutAbsent(parsed);
}

/**
 * Objective of a call in ms: the earlier of duration and deadline, else the gateway's token
 * objectives over the expected answer. `undefined` when the caller declared none.
 */
export function declaredSloMs(
  headers: WorkflowHeaders,
  arrivedAt: number,
  expectedOutputTokens: number,
): number | undefined {
  const fromDeadline = headers.deadlineAt === undefined ? Infinity : headers.deadlineAt - arrivedAt;
  const earliest = Math.min(headers.sloMs ?? Infinity, fromDeadline);
  if (earliest < Infinity) return earliest;
  const { firstTokenSloMs, perTokenSloMs } = headers;
  if (firstTokenSloMs === undefined && perTokenSloMs === undefined) return undefined;
  return (firstTokenSloMs ?? 0) + (perTokenSloMs ?? 0) * expectedOutputTokens;
}

function readTenant(
  read: (name: string, parse: (text: string) => string | undefined) => string | undefined,
): string | undefined {
  let tenant = read(TENANT_ID_HEADER, parseId);
  for (const alias of TENANT_ALIAS_HEADERS) tenant ??= read(alias, parseId);
  return tenant;
}

/** Printable ASCII without space, so that an id can stand in keys, logs and headers. */
const ID_FORM = /^[\x21-\x7e]+$/;

function parseId(text: string): string | undefined {
  return text.length <= MAX_ID_CHARACTERS && ID_FORM.test(text) ? text : undefined;
}

function parseWhole(text: string, largest: number): number | undefined {
  const value = Number(text);
  return /^\d{1,16}$/.test(text) && value <= largest ? value : undefined;
}

function parseDuration(text: string): number | undefined {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) return undefined;
  const value = Number(text);
  return value > 0 && value <= LARGEST_SLO_MS ? value : undefined;
}

function parseFanout(text: string): { position: number; of: number } | undefined {
  const match = /^(\d{1,4})\/(\d{1,4})$/.exec(text);
  if (match === null) return undefined;
  const position = Number(match[1]);
  const of = Number(match[2]);
  return position >= 1 && position <= of ? { position, of } : undefined;
}

function parseFlag(text: string): boolean | undefined {
  if (text === "true") return true;
  return text === "false" ? false : undefined;
}

type Optional<T> = { [Key in keyof T]?: T[Key] | undefined };

function withoutAbsent(
  parsed: Optional<WorkflowHeaders> & Pick<WorkflowHeaders, "isFinal" | "malformed">,
): WorkflowHeaders {
  const present = Object.entries(parsed).filter(([, value]) => value !== undefined);
  // Entries of the same names and types, only those without a value are left out.
  return Object.fromEntries(present) as unknown as WorkflowHeaders;
}
