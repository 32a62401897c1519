/**
 * The data side of the sidecar: names what arrived, answers what is not for the container, and
 * starts a flow for what is. Stock Knative's order (contract 2.7) with the pod's name asked first.
 */
import { NETWORK_HASH_HEADER } from "../common/contracts/headers.ts";
import type { Exchange, FrontHooks, OwnAnswer } from "../proxy/types.ts";
import { plainAnswer, reasonAnswer } from "./answers.ts";
import type { Marks } from "./core/classify.ts";
import { classify, readMarks } from "./core/classify.ts";
import type { DataPath } from "./data-path.ts";
import { Flow } from "./flow.ts";

const READY: OwnAnswer = { status: 200, headers: [], body: "queue" };
const NOT_READY: OwnAnswer = { status: 503, headers: [], body: "" };
const STOPPING = plainAnswer(503, "shutting down\n");
const HANDED_BACK = plainAnswer(200, "handed back\n");
const NOT_WAITING = plainAnswer(404, "not waiting here\n");

const REFUSALS = {
  malformed_request: "the request is not valid HTTP",
  request_head_timeout: "the head of the request did not arrive in time",
  header_too_large: "the head of the request is too large",
  unknown_expectation: "the expectation is not 100-continue",
} as const;

export function createHooks(path: DataPath): FrontHooks {
  return {
    onExchange: (exchange) => accept(path, exchange),
    onRefused: (reason) => reasonAnswer(reason, REFUSALS[reason]),
  };
}

function accept(path: DataPath, exchange: Exchange): void {
  const marks = readMarks(exchange.head.headers);
  const kind = classify(marks, path.identity.uid());
  switch (kind) {
    case "misdirected":
      path.metrics.count("misdirected");
      return exchange.answer(reasonAnswer("wrong_target", "this is another pod"));
    case "readiness-probe":
      return answerReadiness(path, exchange, marks);
    case "ingress-probe":
      return answerProbe(path, exchange, ingressAnswer(path, marks));
    case "return":
      return exchange.answer(handBack(path, marks.returns ?? ""));
    case "container-probe":
    case "leased":
    case "foreign":
      new Flow(path, { exchange, marks, kind }).admit();
  }
}

/** 200 when the call waited here and goes back; 404 when it runs, or is not here. */
function handBack(path: DataPath, leaseId: string): OwnAnswer {
  for (const flow of path.flows) {
    if (flow.leaseId === leaseId && flow.handBack("handed_back")) return HANDED_BACK;
  }
  return NOT_WAITING;
}

/** Kept waiting while the container starts: a "no" costs the kubelet a whole period. */
function answerReadiness(path: DataPath, exchange: Exchange, marks: Marks): void {
  if (path.drainer.phase !== "serving") return answerProbe(path, exchange, STOPPING);
  const value = marks.networkProbe ?? "";
  if (value !== "queue") {
    const refusal = plainAnswer(400, `unexpected probe header value: ${value}\n`);
    return answerProbe(path, exchange, refusal);
  }
  const forget = path.pod.whenReady(path.probeHoldMs, (isReady) => {
    if (!exchange.pristine || exchange.clientGone) return;
    answerProbe(path, exchange, isReady ? READY : NOT_READY);
  });
  if (exchange.pristine) exchange.onClientGone(forget);
}

/** Probes stand in the request log only when the operator asks for them. */
function answerProbe(path: DataPath, exchange: Exchange, answer: OwnAnswer): void {
  exchange.answer(answer);
  if (!path.config.observability.enableProbeRequestLog) return;
  const { status, body } = answer;
  const seconds = (performance.now() - exchange.receivedAt) / 1_000;
  path.requestLog?.(exchange.head, { status, bytes: Buffer.byteLength(body), seconds });
}

function ingressAnswer(path: DataPath, marks: Marks): OwnAnswer {
  if (path.drainer.phase !== "serving") return STOPPING;
  const hash = marks.networkHash ?? "";
  if (hash === "") {
    const text = 'a probe request must contain a non-empty "K-Network-Hash" header\n';
    return plainAnswer(400, text);
  }
  return { status: 200, headers: [NETWORK_HASH_HEADER, hash], body: "" };
}
