/**
 * What the head of a request says about its rank and its size: workflow, tenant, objective, and
 * whether its body is worth a look. Pure; a malformed header is left out and named.
 */
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import type { WorkflowHeaders } from "../../common/contracts/workflow-headers.ts";
import { parseWorkflowHeaders } from "../../common/contracts/workflow-headers.ts";
import type { ModelBody } from "../../common/hexgen/model-body.ts";
import { readModelBody } from "../../common/hexgen/model-body.ts";
import type { CallerHeaders } from "./caller-headers.ts";
import { findHeader } from "./caller-headers.ts";

/** Paths of model APIs whose JSON bodies name prompt and limits. */
const MODEL_PATH = /\/(?:chat\/completions|completions|embeddings|responses|rerank)\/?$/;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;
/** Names of routes are kept with their times: what looks like an id is no name. */
const ID_PART = /\/(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,})(?=\/|$)/gi;
const MOST_ROUTE = 64;

/** Part of a head that decides here. */
export interface HeadFacts {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
}

/** The body tells tokens: worth holding before a pod is chosen. */
export function isModelCall(head: HeadFacts, contentType: string): boolean {
  return head.method === "POST" && JSON_TYPE.test(contentType) && MODEL_PATH.test(pathOf(head));
}

/** `POST /v1/ocr`: what calls outside of a workflow are measured under. */
export function routeOf(head: HeadFacts): string {
  const path = pathOf(head).replaceAll(ID_PART, "/:id");
  return `${head.method} ${path}`.slice(0, MOST_ROUTE);
}

/** Under which names a call runs; empty where it has none. */
export interface CallNames {
  readonly workflow: string;
  readonly workflowClass: string;
  /** Of a call outside of a workflow its route. */
  readonly stage: string;
  readonly stageIndex: number;
  readonly callId: string;
  readonly isFinal: boolean;
}

const NO_HEADERS: WorkflowHeaders = { isFinal: false, malformed: [] };

/** Reads the workflow headers; none of them is there for most requests. */
export function readWorkflow(head: HeadFacts, caller: CallerHeaders): WorkflowHeaders {
  if (caller.ranked === "" && caller.tenant === "") return NO_HEADERS;
  return parseWorkflowHeaders((name) => findHeader(head.headers, name) || undefined);
}

export function namesOf(headers: WorkflowHeaders, head: HeadFacts, requestId: string): CallNames {
  return {
    workflow: headers.workflowId ?? "",
    workflowClass: headers.workflowClass ?? "",
    stage: headers.stage ?? routeOf(head),
    stageIndex: headers.stageIndex ?? 0,
    callId: headers.callId ?? requestId,
    isFinal: headers.isFinal,
  };
}

/** Without any of these a request is served by arrival alone and costs nothing more. */
export function needsRank(config: RevisionConfig, caller: CallerHeaders): boolean {
  if (caller.ranked !== "" || caller.tenant !== "" || caller.rejectLate !== "") return true;
  return (
    config.policy === "speed-aware" || config.queueOrder !== "fifo" || config.binding === "early"
  );
}

/** What a body says, or what its length says of one that is too long or too slow to be read. */
export function readBody(
  head: HeadFacts & { readonly contentLength: number },
  contentType: string,
  body: Buffer | null,
): ModelBody | undefined {
  if (!isModelCall(head, contentType)) return undefined;
  if (body !== null) return readModelBody(parseJson(body));
  return head.contentLength > 0 ? sizedBody(head.contentLength) : undefined;
}

/** Stands for a body that is none of a model, or was not seen: zeros and empty. */
export const NO_BODY: ModelBody = {
  model: "",
  characters: 0,
  messages: 0,
  imageTokens: 0,
  cjkShare: 0,
  maxTokens: undefined,
  answers: 1,
  fingerprints: [],
};

/** Nearly all of a long body is prompt. */
function sizedBody(characters: number): ModelBody {
  return { ...NO_BODY, characters, messages: 1 };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

function pathOf(head: HeadFacts): string {
  return head.target.split("?", 1)[0] ?? "";
}
