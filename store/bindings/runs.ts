/** Bindings of the scripts about asynchronous runs. Bodies travel as base64: replies are read as text. */
import { RUN_KEYS } from "../keys.ts";
import type {
  AcceptRun,
  AcceptResult,
  ClaimRuns,
  ClaimedRuns,
  FinishRun,
  OwnedRun,
  SettleRun,
} from "../run-types.ts";
import type { Binding } from "./binding.ts";
import { flag } from "./binding.ts";
import { parseRun } from "./run-record.ts";

export const acceptRun: Binding<AcceptRun, AcceptResult> = {
  script: "accept-run",
  keys: RUN_KEYS,
  args: [
    "now",
    "owner",
    "id",
    "mark",
    "request",
    "payload",
    "secrets",
    "limit",
    "repeatable",
    "mostOpen",
    "mostBytes",
  ],
  encode: (run, { now }) => [
    now,
    run.owner,
    run.id,
    run.mark,
    JSON.stringify(run.request),
    run.payload.toString("base64"),
    JSON.stringify(run.secrets),
    String(run.limitMs),
    flag(run.repeatable),
    String(run.mostOpen),
    String(run.mostBytes),
  ],
  decode: (reply) => {
    const { status } = reply;
    if (status === "taken" || status === "full") return { kind: status };
    if (status !== "accepted" && status !== "known") throw reply.unexpected();
    return { kind: status, acceptedAt: reply.number(1) };
  },
};

export const withdrawRun: Binding<OwnedRun, void> = {
  script: "withdraw-run",
  keys: RUN_KEYS,
  args: ["owner", "id"],
  encode: ({ owner, id }) => [owner, id],
  decode: () => undefined,
};

/** The body, or null: the run is not this owner's any more. */
export const startRun: Binding<OwnedRun, Buffer | null> = {
  script: "start-run",
  keys: RUN_KEYS.slice(0, 4),
  args: ["now", "owner", "id"],
  encode: ({ owner, id }, { now }) => [now, owner, id],
  decode: (reply) => (reply.status === "started" ? Buffer.from(reply.text(1), "base64") : null),
};

export const returnRun: Binding<OwnedRun & { readonly pauseMs: number }, void> = {
  script: "return-run",
  keys: RUN_KEYS,
  args: ["now", "owner", "id", "pause"],
  encode: ({ owner, id, pauseMs }, { now }) => [now, owner, id, String(Math.round(pauseMs))],
  decode: () => undefined,
};

/** False: the run was another's by then, and how it ended here counts for nothing. */
export const finishRun: Binding<FinishRun, boolean> = {
  script: "finish-run",
  keys: RUN_KEYS,
  args: ["now", "owner", "id", "state", "status", "answer", "payload", "deliver", "kept"],
  encode: (run, { now }) => [
    now,
    run.owner,
    run.id,
    run.state,
    String(run.status),
    JSON.stringify(run.answer),
    run.payload.toString("base64"),
    flag(run.deliver),
    String(run.keptMs),
  ],
  decode: (reply) => reply.status === "finished",
};

export const settleRun: Binding<SettleRun, void> = {
  script: "settle-run",
  keys: RUN_KEYS,
  args: ["now", "owner", "id", "delivery", "tries", "most", "kept"],
  encode: (run, { now }) => [
    now,
    run.owner,
    run.id,
    run.delivery,
    String(run.tries),
    String(run.mostBytes),
    String(run.keptMs),
  ],
  decode: () => undefined,
};

export const claimRuns: Binding<ClaimRuns, ClaimedRuns> = {
  script: "claim-runs",
  keys: RUN_KEYS,
  args: ["now", "owner", "most", "kept"],
  encode: ({ owner, most, keptMs }, { now }) => [now, owner, String(most), String(keptMs)],
  decode: (reply) => {
    const taken = [];
    for (let at = 3; at + 2 < reply.length; at += 3) {
      taken.push(parseRun(reply.text(at), reply.text(at + 1), reply.text(at + 2)));
    }
    return { kept: reply.number(1), open: reply.number(2), taken };
  },
};
