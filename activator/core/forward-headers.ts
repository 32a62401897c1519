/**
 * Header lists across the activator: what the sidecar gets of a caller's request, and what the
 * caller gets of the pod's answer. One pass each over the flat list.
 */
import {
  CALLER_EXPECT_HEADER,
  HOP_BY_HOP_HEADERS,
  INTERNAL_HEADERS,
  KNATIVE_NAMESPACE_HEADER,
  KNATIVE_REVISION_HEADER,
  LEASE_HEADER,
  NETWORK_HASH_HEADER,
  ORIGINAL_HOST_HEADER,
  PROXY_REQUEST_ACTIVATOR,
  PROXY_REQUEST_HEADER,
  REQUEST_ID_HEADER,
  RUN_LIMIT_HEADER,
  TARGET_UID_HEADER,
} from "../../common/contracts/headers.ts";
import { withoutMapping } from "../../common/peer-address.ts";
import { TENANT_ALIAS_HEADERS, TENANT_ID_HEADER } from "../../common/contracts/workflow-headers.ts";
import { type HeaderNames, headerNames } from "../../common/header-names.ts";
import type { CallerHeaders } from "./caller-headers.ts";
import { findHeader, findHeaders } from "./caller-headers.ts";

/** Whether an ingress of the platform stands in front, which sets some headers itself. */
export type Surroundings = "cluster" | "local";

/** Set anew by this hop. Framing, `TE` and `Expect` towards the pod are the proxy core's. */
const REPLACED_HEADERS = [
  "host",
  "expect",
  "x-forwarded-for",
  REQUEST_ID_HEADER,
  ORIGINAL_HOST_HEADER,
  PROXY_REQUEST_HEADER,
  NETWORK_HASH_HEADER,
  KNATIVE_NAMESPACE_HEADER,
  KNATIVE_REVISION_HEADER,
];

/** Words of the platform that a caller from outside must not put into its mouth. */
const INGRESS_HEADERS = [
  "k-passthrough-lb",
  "k-kubelet-probe",
  "k-network-probe",
  "knative-serving-tag",
  "knative-serving-default-route",
];

type Names = HeaderNames<true>;

const IN_CLUSTER = [...HOP_BY_HOP_HEADERS, ...INTERNAL_HEADERS, ...REPLACED_HEADERS];
const IN_LOCAL = [...IN_CLUSTER, ...INGRESS_HEADERS];
const HOP_BY_HOP = headerNames(HOP_BY_HOP_HEADERS);
const DROPPED: Readonly<Record<Surroundings, Names>> = {
  cluster: headerNames(IN_CLUSTER),
  local: headerNames(IN_LOCAL),
};

const TENANT_HEADERS = [TENANT_ID_HEADER, ...TENANT_ALIAS_HEADERS];
const DROPPED_WITH_TENANT: Readonly<Record<Surroundings, Names>> = {
  cluster: headerNames([...IN_CLUSTER, ...TENANT_HEADERS]),
  local: headerNames([...IN_LOCAL, ...TENANT_HEADERS]),
};

export interface RequestForwarding {
  readonly surroundings: Surroundings;
  readonly caller: Pick<CallerHeaders, "connection" | "forwardedFor" | "originalHost">;
  /** The caller itself waits for a 100: then the container is asked, not only the sidecar. */
  readonly expectsContinue: boolean;
  /** Host as the caller named it. */
  readonly host: string;
  readonly remoteAddress: string;
  readonly requestId: string;
  /** A tenant was named by somebody who may not. */
  readonly dropsTenant?: boolean;
}

/**
 * What stays the same over all attempts of a request, made once. It begins with an empty `host`,
 * which `withHost` fills in.
 */
export function forwardedHeaders(headers: readonly string[], request: RequestForwarding): string[] {
  const { caller, surroundings } = request;
  const result = ["host", ""];
  const dropped = (request.dropsTenant === true ? DROPPED_WITH_TENANT : DROPPED)[surroundings];
  copyHeaders(headers, result, { dropped, connection: caller.connection });
  const peer = withoutMapping(request.remoteAddress);
  const via = caller.forwardedFor === "" ? peer : `${caller.forwardedFor}, ${peer}`;
  const host = surroundings === "cluster" ? caller.originalHost || request.host : request.host;
  result.push("x-forwarded-for", via);
  result.push(ORIGINAL_HOST_HEADER, host);
  result.push(PROXY_REQUEST_HEADER, PROXY_REQUEST_ACTIVATOR);
  result.push(REQUEST_ID_HEADER, request.requestId);
  if (request.expectsContinue) result.push(CALLER_EXPECT_HEADER, "100-continue");
  return result;
}

/** Forwarded headers on their way to this host. Copied as a whole: spreading goes element by element. */
export function withHost(forwarded: readonly string[], host: string): string[] {
  const headers = forwarded.slice();
  headers[1] = host;
  return headers;
}

export interface LeaseHeaders {
  readonly leaseId: string;
  readonly targetUid: string;
  readonly address: string;
}

/** `runMs`: limit of an asynchronous run, for the sidecar's own clock. */
export function attemptHeaders(
  forwarded: readonly string[],
  lease: LeaseHeaders,
  runMs?: number,
): string[] {
  const headers = withHost(forwarded, lease.address);
  headers.push(TARGET_UID_HEADER, lease.targetUid, LEASE_HEADER, lease.leaseId);
  if (runMs !== undefined) headers.push(RUN_LIMIT_HEADER, String(runMs));
  return headers;
}

/** The pod's answer as the caller gets it; `own` is what the platform adds. */
export function answerHeaders(headers: readonly string[], own: readonly string[]): string[] {
  const result: string[] = [];
  const hasRequestId = findHeader(headers, REQUEST_ID_HEADER) !== "";
  copyHeaders(headers, result, {
    dropped: HOP_BY_HOP,
    connection: joined(findHeaders(headers, "connection")),
  });
  for (let index = 0; index + 1 < own.length; index += 2) {
    // A container that sets its own request id keeps it: its answer is never changed.
    if (own[index] === REQUEST_ID_HEADER && hasRequestId) continue;
    result.push(own[index] ?? "", own[index + 1] ?? "");
  }
  return result;
}

/** The list with one header set, in place of what it had of that name. */
export function withHeader(
  headers: readonly string[],
  name: string,
  value: string,
): readonly string[] {
  const result: string[] = [];
  copyHeaders(headers, result, { dropped: headerNames([name]), connection: "" });
  result.push(name, value);
  return result;
}

function joined(values: readonly string[]): string {
  return values.length < 2 ? (values[0] ?? "") : values.join(",");
}

interface CopyRules {
  readonly dropped: Names;
  /** Value of `Connection`: names that end at this hop beside the usual ones. */
  readonly connection: string;
}

function copyHeaders(from: readonly string[], into: string[], rules: CopyRules): void {
  const listed = listedNames(rules.connection);
  for (let index = 0; index + 1 < from.length; index += 2) {
    const name = from[index] ?? "";
    if (rules.dropped.has(name) || listed?.has(name.toLowerCase()) === true) continue;
    into.push(name, from[index + 1] ?? "");
  }
}

function listedNames(connection: string): ReadonlySet<string> | null {
  if (connection === "") return null;
  const lower = connection.toLowerCase();
  if (lower === "keep-alive" || lower === "close") return null;
  return new Set(lower.split(",").map((name) => name.trim()));
}
