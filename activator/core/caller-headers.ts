/**
 * One pass over a caller's header list that picks out everything the activator decides by, so that
 * no later step scans the list again.
 */
import { GRPC_TIMEOUT } from "../../common/contracts/grpc.ts";
import {
  DEBUG_HEADER,
  IDEMPOTENCY_KEY_HEADER,
  PREFER_HEADER,
  WEBHOOK_FORMAT_HEADER,
  WEBHOOK_SECRET_HEADER,
  KNATIVE_NAMESPACE_HEADER,
  KNATIVE_REVISION_HEADER,
  KUBELET_PROBE_HEADER,
  NETWORK_HASH_HEADER,
  NETWORK_PROBE_HEADER,
  ORIGINAL_HOST_HEADER,
  REJECT_LATE_HEADER,
  REQUEST_ID_HEADER,
  SESSION_HEADER,
} from "../../common/contracts/headers.ts";
import {
  RANK_HEADERS,
  TENANT_ALIAS_HEADERS,
  TENANT_ID_HEADER,
} from "../../common/contracts/workflow-headers.ts";
import { HeaderNames, isHeaderName } from "../../common/header-names.ts";

/** Empty text where the caller sent none. */
export interface CallerHeaders {
  accept: string;
  contentType: string;
  userAgent: string;
  requestId: string;
  idempotencyKey: string;
  debug: string;
  grpcTimeout: string;
  forwardedFor: string;
  originalHost: string;
  /** Names listed in `Connection`, which end at this hop too. */
  connection: string;
  knativeNamespace: string;
  knativeRevision: string;
  networkProbe: string;
  networkHash: string;
  kubeletProbe: string;
  /** Something of a workflow, an objective or an expected size; read in full where it counts. */
  ranked: string;
  /** Of the request; believed only where a trusted gateway sent it. */
  tenant: string;
  rejectLate: string;
  session: string;
  prefer: string;
  webhookSecret: string;
  webhookFormat: string;
}

const FIELDS = new HeaderNames<keyof CallerHeaders>([
  ["accept", "accept"],
  ["content-type", "contentType"],
  ["user-agent", "userAgent"],
  [REQUEST_ID_HEADER, "requestId"],
  [IDEMPOTENCY_KEY_HEADER, "idempotencyKey"],
  [DEBUG_HEADER, "debug"],
  [GRPC_TIMEOUT, "grpcTimeout"],
  ["x-forwarded-for", "forwardedFor"],
  [ORIGINAL_HOST_HEADER, "originalHost"],
  ["connection", "connection"],
  [KNATIVE_NAMESPACE_HEADER, "knativeNamespace"],
  [KNATIVE_REVISION_HEADER, "knativeRevision"],
  [NETWORK_PROBE_HEADER, "networkProbe"],
  [NETWORK_HASH_HEADER, "networkHash"],
  [KUBELET_PROBE_HEADER, "kubeletProbe"],
  ...RANK_HEADERS.map((name) => [name, "ranked"] as const),
  [TENANT_ID_HEADER, "tenant"],
  ...TENANT_ALIAS_HEADERS.map((name) => [name, "tenant"] as const),
  [REJECT_LATE_HEADER, "rejectLate"],
  [SESSION_HEADER, "session"],
  [PREFER_HEADER, "prefer"],
  [WEBHOOK_SECRET_HEADER, "webhookSecret"],
  [WEBHOOK_FORMAT_HEADER, "webhookFormat"],
]);

/** Repeated headers are joined with a comma, as RFC 9110 5.3 reads them. */
export function readCallerHeaders(headers: readonly string[]): CallerHeaders {
  const result: CallerHeaders = {
    accept: "",
    contentType: "",
    userAgent: "",
    requestId: "",
    idempotencyKey: "",
    debug: "",
    grpcTimeout: "",
    forwardedFor: "",
    originalHost: "",
    connection: "",
    knativeNamespace: "",
    knativeRevision: "",
    networkProbe: "",
    networkHash: "",
    kubeletProbe: "",
    ranked: "",
    tenant: "",
    rejectLate: "",
    session: "",
    prefer: "",
    webhookSecret: "",
    webhookFormat: "",
  };
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const field = FIELDS.get(headers[index] ?? "");
    if (field === undefined) continue;
    const value = headers[index + 1] ?? "";
    result[field] = result[field] === "" ? value : `${result[field]}, ${value}`;
  }
  return result;
}

/** First value of a header, for lists that are looked at once; empty when it is not there. */
export function findHeader(headers: readonly string[], name: string): string {
  return findHeaders(headers, name)[0] ?? "";
}

export function findHeaders(headers: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (!isHeaderName(headers[index] ?? "", name)) continue;
    values ??= [];
    values.push(headers[index + 1] ?? "");
  }
  return values ?? NONE;
}

const NONE: readonly string[] = [];
