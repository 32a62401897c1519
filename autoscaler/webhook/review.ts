/** The envelope of admission: what the API server asks, and the form of the answer. Pure. */
import { defaultsPatch, judge } from "./judge.ts";
import type { ClusterRules, JudgedObject } from "./judge.ts";

export interface AdmissionRequest {
  readonly uid: string;
  readonly kind?: { readonly kind?: string };
  readonly operation?: string;
  readonly object?: JudgedObject | null;
  readonly oldObject?: JudgedObject | null;
}

interface AdmissionAnswer {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
  readonly warnings?: readonly string[];
  readonly patchType?: "JSONPatch";
  readonly patch?: string;
}

export interface AdmissionReview {
  readonly apiVersion: "admission.k8s.io/v1";
  readonly kind: "AdmissionReview";
  readonly response: AdmissionAnswer;
}

/** The API server cuts longer ones, in the middle of a word. */
const WARNING_LENGTH = 256;
const MOST_WARNINGS = 12;

export function validationReview(request: AdmissionRequest, rules: ClusterRules): AdmissionReview {
  const object = objectOf(request);
  const before = request.operation === "UPDATE" ? (request.oldObject ?? null) : null;
  const kind = object.kind ?? "";
  const { errors, warnings } = judge(object, before === null ? null : { ...before, kind }, rules);
  const shown = warnings.slice(0, MOST_WARNINGS).map((text) => text.slice(0, WARNING_LENGTH));
  const more = shown.length === 0 ? {} : { warnings: shown };
  if (errors.length === 0) return review({ uid: request.uid, allowed: true, ...more });
  // The form in which the stock webhook refuses.
  const message = `validation failed: ${errors.join("\n")}`;
  const status = { code: 400, reason: "BadRequest", message };
  return review({ uid: request.uid, allowed: false, status, ...more });
}

export function defaultingReview(request: AdmissionRequest, rules: ClusterRules): AdmissionReview {
  const steps = defaultsPatch(objectOf(request), rules);
  if (steps.length === 0) return review({ uid: request.uid, allowed: true });
  const patch = Buffer.from(JSON.stringify(steps)).toString("base64");
  return review({ uid: request.uid, allowed: true, patchType: "JSONPatch", patch });
}

/** `null` for a body that is no review. */
export function parseReview(text: string): AdmissionRequest | null {
  try {
    const { request } = JSON.parse(text) as { readonly request?: Partial<AdmissionRequest> };
    return typeof request?.uid === "string" ? { ...request, uid: request.uid } : null;
  } catch {
    return null;
  }
}

function objectOf({ object, kind }: AdmissionRequest): JudgedObject {
  return { ...object, ...(kind?.kind === undefined ? {} : { kind: kind.kind }) };
}

function review(response: AdmissionAnswer): AdmissionReview {
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}
