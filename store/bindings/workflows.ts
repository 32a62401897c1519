/** Bindings of the scripts that open and close the calls of a workflow. */
import type { CloseCallRequest, ExpectedStage, OpenCallRequest, OpenCallResult } from "../types.ts";
import { WORKFLOW_KEYS } from "../keys.ts";
import { flag } from "./binding.ts";
import type { Binding } from "./binding.ts";

/** A name from outside never reaches into the next word or line. */
const word = (text: string): string => (text === "" ? "_" : text.replaceAll(/\s/g, "_"));

/** A line per stage, as `lua/include/template.lua` reads it. */
export function encodeTemplate(template: readonly ExpectedStage[]): string {
  return template
    .map(
      ({ stage, optional, probability, workUs }) =>
        `${word(stage)} ${flag(optional)} ${probability} ${workUs}\n`,
    )
    .join("");
}

export const openCall: Binding<OpenCallRequest, OpenCallResult> = {
  script: "open-call",
  keys: WORKFLOW_KEYS,
  args: [
    "now",
    "callId",
    "stage",
    "index",
    "stageUs",
    "slo",
    "deadline",
    "leastSlo",
    "mayExtend",
    "template",
    "remaining",
    "fanout",
  ],
  encode: (call, { now }) => [
    now,
    call.callId,
    word(call.stage),
    String(call.stageIndex),
    String(call.stageUs),
    String(call.sloUs),
    String(call.deadlineAt),
    String(call.leastSloUs),
    flag(call.mayExtend),
    encodeTemplate(call.template),
    call.remaining === undefined ? "-" : encodeTemplate(call.remaining),
    String(call.fanout ?? 0),
  ],
  decode: (reply) => ({
    plan: {
      readyAt: reply.number(1),
      budgetUs: reply.number(2),
      deadlineAt: reply.number(3),
      restUs: reply.number(4),
      workflowArrivedAt: reply.number(5),
    },
    stageIndex: reply.number(6),
    open: reply.number(7),
    lastTarget: reply.text(8),
    lastFingerprints: reply
      .text(9)
      .split(" ")
      .filter((print) => print !== ""),
  }),
};

export const closeCall: Binding<CloseCallRequest, void> = {
  script: "close-call",
  keys: WORKFLOW_KEYS,
  args: ["now", "callId", "target", "final", "prints"],
  encode: ({ callId, targetUid, isFinal, fingerprints }, { now }) => [
    now,
    callId,
    targetUid,
    flag(isFinal),
    fingerprints.join(" "),
  ],
  decode: () => undefined,
};
