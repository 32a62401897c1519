/**
 * Workflows as the simulator replays them, and the reader of the trace files. The class of a
 * workload (template, typical sizes, shared prefixes) is what estimates are made of; the sizes in
 * the workflows are what really happens.
 */
import { PlatformError } from "../../../common/errors.ts";
import type { Template } from "../../../common/hexgen/template.ts";

export interface CallTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface TracedStage {
  readonly stage: string;
  /** Parallel calls; the stage ends with the last of them. */
  readonly calls: readonly CallTokens[];
}

export interface TracedWorkflow {
  /** Arrival of a process with rate 1, in its own unit of time. */
  readonly arrivalUnits: number;
  readonly stages: readonly TracedStage[];
  /** What is expected of it; absent: the template of the class. */
  readonly template?: Template;
}

export interface StageFacts extends CallTokens {
  /** Leading tokens that every call of the stage shares. */
  readonly sharedPrefixTokens: number;
  /** Repeats most of the prompt of the same workflow's previous call of this stage. */
  readonly isChained: boolean;
}

export interface WorkflowClass {
  readonly template: Template;
  readonly stages: Readonly<Record<string, StageFacts>>;
}

const COLUMNS = [
  "workflow_id",
  "arrival_u",
  "stage",
  "call_id",
  "step",
  "input_tokens",
  "output_tokens",
] as const;

interface MutableWorkflow {
  arrivalUnits: number;
  stages: { stage: string; calls: CallTokens[] }[];
}

/** Reads a trace: one row per call, rows of a workflow together, stages numbered from 0. */
export function parseTrace(text: string): TracedWorkflow[] {
  const [header = "", ...rows] = text.trimEnd().split("\n");
  const names = header.trim().split(",");
  const columns = COLUMNS.map((name) => names.indexOf(name));
  const missing = COLUMNS.filter((_, index) => columns[index] === -1);
  if (missing.length > 0) {
    throw new PlatformError("ERR_CONFIG_INVALID", `trace has no column ${missing.join(", ")}`);
  }
  const workflows: MutableWorkflow[] = [];
  let lastId = "";
  for (const row of rows) {
    const cells = row.trim().split(",");
    const [id = "", arrival, stage, , step = "", input, output] = columns.map(
      (column) => cells[column] ?? "",
    );
    if (id !== lastId) workflows.push({ arrivalUnits: Number(arrival), stages: [] });
    lastId = id;
    const stages = workflows.at(-1)?.stages ?? [];
    const current = (stages[Number(stage)] ??= { stage: step, calls: [] });
    current.calls.push({ inputTokens: Number(input), outputTokens: Number(output) });
  }
  return workflows;
}
