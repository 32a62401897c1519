/**
 * Calls about workflows: each has a key of its own, in a slot of its own, because its stages may be
 * served by different revisions. What the scripts write is read here as plain fields.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { closeCall, openCall } from "./bindings/workflows.ts";
import type { Keys } from "./keys.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type {
  ExpectedStage,
  WorkflowKey,
  WorkflowStageView,
  WorkflowStore,
  WorkflowView,
} from "./types.ts";

/** Hash tag of a workflow; has the form of a revision's key. No name reaches into the next part. */
const tagOf = ({ namespace, tenant, id }: WorkflowKey): RevisionKey =>
  `wf:${namespace}/${encodeURIComponent(tenant)}/${encodeURIComponent(id)}`;

export function createWorkflowCalls(caller: ScriptCaller, keys: Keys): WorkflowStore {
  return {
    openCall: (request) => caller.call(openCall, tagOf(request.workflow), request),
    closeCall: (request) => caller.call(closeCall, tagOf(request.workflow), request),
    readWorkflow: async (workflow) => {
      const key = keys.one(tagOf(workflow), "workflow");
      const fields = await caller.command((client) => client.hgetall(key));
      return fields["arrive"] === undefined ? null : decodeWorkflow(fields);
    },
  };
}

function decodeWorkflow(fields: Readonly<Record<string, string>>): WorkflowView {
  const number = (name: string): number => Number(fields[name] ?? 0);
  return {
    arrivedAt: number("arrive"),
    sloUs: number("slo"),
    deadlineAt: number("deadline"),
    stageIndex: number("index"),
    open: number("open"),
    isEnded: number("ended") === 1,
    lastTarget: fields["last"] ?? "",
    template: rowsOf(fields["template"]).map(decodeEntry),
    stages: rowsOf(fields["stages"]).map(decodeStage),
  };
}

function rowsOf(text = ""): string[][] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => line.split(" "));
}

function decodeEntry([
  stage = "",
  optional,
  probability,
  workUs,
]: readonly string[]): ExpectedStage {
  return {
    stage,
    optional: optional === "1",
    probability: Number(probability),
    workUs: Number(workUs),
  };
}

function decodeStage(row: readonly string[]): WorkflowStageView {
  const [stage = "", index, readyAt, budgetUs, endedAt] = row;
  return {
    stage,
    index: Number(index),
    readyAt: Number(readyAt),
    budgetUs: Number(budgetUs),
    endedAt: Number(endedAt),
  };
}
