/** Bindings of the scripts that keep an activator's part in a revision alive, and end it. */
import type { ProbeOrder, SweepResult } from "../types.ts";
import { STATE_KEYS } from "./binding.ts";
import type { Binding, Reply } from "./binding.ts";

const NOTHING: SweepResult = { probes: [], evicted: [], more: false };

export const renewActivator: Binding<{ activatorId: string; runId: string }, SweepResult> = {
  script: "renew-activator",
  keys: STATE_KEYS,
  args: ["activatorId", "runId", "now"],
  encode: ({ activatorId, runId }, { now }) => [activatorId, runId, now],
  decode: (reply) => {
    if (reply.status !== "ok") return NOTHING;
    const probes = reply.number(2);
    return {
      more: reply.flag(1),
      probes: Array.from({ length: probes }, (_, index) => probeOrder(reply, 3 + 3 * index)),
      evicted: reply.texts(3 + 3 * probes),
    };
  },
};

function probeOrder(reply: Reply, from: number): ProbeOrder {
  return {
    targetUid: reply.text(from),
    address: reply.text(from + 1),
    state: reply.text(from + 2) === "quarantined" ? "quarantined" : "suspected",
  };
}

/** True: call again, there is more to end. */
export const leaveRevision: Binding<{ activatorId: string }, boolean> = {
  script: "leave-revision",
  keys: STATE_KEYS,
  args: ["activatorId", "now"],
  encode: ({ activatorId }, { now }) => [activatorId, now],
  decode: (reply) => reply.status === "ok" && reply.flag(1),
};
