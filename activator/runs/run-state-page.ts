/** What became of a run, and its answer as long as it is kept, on the URL of its service. */
import type { RunRecord, ServiceKey } from "../../common/contracts/async-runs.ts";
import { ANSWER_SUFFIX, RUNS_PATH } from "../../common/contracts/async-runs.ts";
import { REQUEST_ID_HEADER, WEBHOOK_STATUS_HEADER } from "../../common/contracts/headers.ts";
import type { OwnAnswer } from "../../proxy/types.ts";
import type { RunStore } from "../../store/run-types.ts";
import { platformAnswer } from "../core/answers.ts";
import type { RunCall } from "./run-desk.ts";

export interface StateQuestion {
  readonly call: RunCall;
  /** Of a run that the store does not know: it was accepted not long ago. */
  readonly wasAccepted: (id: string) => Promise<boolean>;
}

export async function answerRunState(
  store: RunStore,
  service: ServiceKey,
  question: StateQuestion,
): Promise<void> {
  const { exchange } = question.call;
  const answer = await answerOf(store, service, question);
  if (exchange.pristine) exchange.answer(answer);
}

async function answerOf(
  store: RunStore,
  service: ServiceKey,
  { call, wasAccepted }: StateQuestion,
): Promise<OwnAnswer> {
  const { method, target } = call.exchange.head;
  const path = target.slice(RUNS_PATH.length).split("?")[0] ?? "";
  if (method !== "GET" && method !== "HEAD") return missing(call, "runs are read with GET");
  const wantsAnswer = path.endsWith(ANSWER_SUFFIX);
  const id = wantsAnswer ? path.slice(0, -ANSWER_SUFFIX.length) : path;
  const run = await store.read(service, id);
  if (run !== null)
    return wantsAnswer ? keptAnswer(store, service, { call, run }) : json(call, runView(run));
  if (!wantsAnswer && (await wasAccepted(id))) return json(call, { run_id: id, state: "unknown" });
  return missing(call, `no run ${id} of this service is known`);
}

async function keptAnswer(
  store: RunStore,
  service: ServiceKey,
  { call, run }: { readonly call: RunCall; readonly run: RunRecord },
): Promise<OwnAnswer> {
  const { id } = run;
  if (run.answer === null) return missing(call, `run ${id} has no answer (yet): ${run.state}`);
  if (run.answer.omitted) return missing(call, `the answer of run ${id} is too large to be kept`);
  const bytes = await store.readPayload(service, id);
  const headers = [...run.answer.headers, ...common(call), WEBHOOK_STATUS_HEADER, `${run.status}`];
  return { status: 200, headers, body: "", bytes };
}

/** As callers read it. */
export function runView(run: RunRecord): Readonly<Record<string, unknown>> {
  const { id, state, status, acceptedAt, startedAt, endedAt, delivery, attempts } = run;
  return {
    run_id: id,
    state,
    status_code: status === 0 ? null : status,
    attempts,
    accepted_at: instant(acceptedAt),
    started_at: instant(startedAt),
    ended_at: instant(endedAt),
    webhook: delivery,
  };
}

function instant(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString();
}

function json(call: RunCall, value: unknown): OwnAnswer {
  const headers = ["content-type", "application/json", ...common(call)];
  return { status: 200, headers, body: `${JSON.stringify(value)}\n` };
}

function common({ requestId }: RunCall): string[] {
  return [REQUEST_ID_HEADER, requestId, "cache-control", "no-store"];
}

function missing({ caller, requestId }: RunCall, message: string): OwnAnswer {
  return platformAnswer({
    reason: "no_such_run",
    message,
    requestId,
    accept: caller.accept,
    contentType: caller.contentType,
    retryAfterS: 1,
    headers: [REQUEST_ID_HEADER, requestId],
  });
}
