/**
 * What kind of request arrived: a probe of the kubelet, of the ingress, or user traffic. Knative's
 * order of questions (contract 2.7), asked in one pass over the flat header list.
 */
import { GRPC_TIMEOUT } from "../../common/contracts/grpc.ts";
import {
  ACTIVATOR_PROBE_AGENT,
  AUTOSCALER_PROBE_AGENT,
  CALL_HEADER,
  CALLER_EXPECT_HEADER,
  KUBELET_PROBE_AGENT,
  KUBELET_PROBE_HEADER,
  LEASE_HEADER,
  NETWORK_HASH_HEADER,
  NETWORK_PROBE_HEADER,
  ORDER_HEADER,
  PROXY_REQUEST_ACTIVATOR,
  PROXY_REQUEST_HEADER,
  RETURN_HEADER,
  RUN_LIMIT_HEADER,
  TARGET_UID_HEADER,
  TENANT_HEADER,
} from "../../common/contracts/headers.ts";
import { HeaderNames } from "../../common/header-names.ts";
import { WORKFLOW_DEADLINE_HEADER } from "../../common/contracts/workflow-headers.ts";

/** The headers that decide what happens to a request; absent ones are undefined. */
export interface Marks {
  userAgent?: string;
  networkProbe?: string;
  networkHash?: string;
  kubeletProbe?: string;
  proxyRequest?: string;
  targetUid?: string;
  leaseId?: string;
  order?: string;
  deadline?: string;
  tenant?: string;
  call?: string;
  returns?: string;
  runLimit?: string;
  callerExpect?: string;
  contentType?: string;
  grpcTimeout?: string;
  accept?: string;
}

const MARK_OF_HEADER = new HeaderNames<keyof Marks>([
  ["user-agent", "userAgent"],
  [NETWORK_PROBE_HEADER, "networkProbe"],
  [NETWORK_HASH_HEADER, "networkHash"],
  [KUBELET_PROBE_HEADER, "kubeletProbe"],
  [PROXY_REQUEST_HEADER, "proxyRequest"],
  [TARGET_UID_HEADER, "targetUid"],
  [LEASE_HEADER, "leaseId"],
  [ORDER_HEADER, "order"],
  [WORKFLOW_DEADLINE_HEADER, "deadline"],
  [TENANT_HEADER, "tenant"],
  [CALL_HEADER, "call"],
  [RETURN_HEADER, "returns"],
  [RUN_LIMIT_HEADER, "runLimit"],
  [CALLER_EXPECT_HEADER, "callerExpect"],
  ["content-type", "contentType"],
  [GRPC_TIMEOUT, "grpcTimeout"],
  ["accept", "accept"],
]);

/** First value of each deciding header; repeated ones count once, as in Go's `Header.Get`. */
export function readMarks(headers: readonly string[]): Marks {
  const marks: Marks = {};
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = MARK_OF_HEADER.get(headers[index] ?? "");
    if (name !== undefined) marks[name] ??= headers[index + 1] ?? "";
  }
  return marks;
}

export type RequestKind =
  /** Meant for another pod that had this address before: 421. */
  | "misdirected"
  | "readiness-probe"
  | "ingress-probe"
  /** Goes to the container without limit and statistics. */
  | "container-probe"
  /** Chosen for this pod by our activator: a slot is reserved for it. */
  | "leased"
  /** Asks for a call back that may still wait here. */
  | "return"
  /** Came another way; limited and queued as stock Knative does. */
  | "foreign";

export function classify(marks: Marks, podUid: string): RequestKind {
  if (marks.targetUid !== undefined && marks.targetUid !== podUid) return "misdirected";
  if (isProbeAgent(marks.userAgent ?? "")) return "readiness-probe";
  if (marks.networkProbe === "probe") return "ingress-probe";
  if (marks.kubeletProbe !== undefined && marks.kubeletProbe !== "") return "container-probe";
  if (marks.targetUid === undefined) return "foreign";
  return marks.returns === undefined ? "leased" : "return";
}

export function isProxied(marks: Marks): boolean {
  return marks.proxyRequest === PROXY_REQUEST_ACTIVATOR;
}

function isProbeAgent(userAgent: string): boolean {
  return (
    userAgent.startsWith(KUBELET_PROBE_AGENT) ||
    userAgent.startsWith(ACTIVATOR_PROBE_AGENT) ||
    userAgent.startsWith(AUTOSCALER_PROBE_AGENT)
  );
}
