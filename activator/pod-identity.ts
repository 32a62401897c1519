/**
 * Who a sidecar is: what its token proves and what its pod object says. In a cluster the token is
 * checked with the API server's keys and the pod is read once by a plain GET, without a client
 * library; local mode has its own form of both in `local-identity.ts`.
 */
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from "jose";
import { TOKEN_AUDIENCE } from "../common/contracts/push.ts";
import type { StartMarks } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";

/** What a valid token says. */
export interface PodClaim {
  readonly uid: string;
  readonly podName: string;
  readonly namespace: string;
  /** Instant, ms since the epoch. */
  readonly expiresAt: number;
}

/** What is known of the pod from its own record, not from the sidecar. */
export interface PodFacts {
  readonly uid: string;
  readonly podName: string;
  readonly namespace: string;
  readonly service: string;
  readonly revision: string;
  /** Empty while the platform does not say it; then the source address of the push stands. */
  readonly address: string;
  readonly card: string;
  readonly marks: StartMarks;
}

export interface PodIdentity {
  /** Rejects with ERR_TOKEN_INVALID. */
  verifyToken(token: string): Promise<PodClaim>;
  /** Rejects with ERR_POD_UNKNOWN. */
  readPod(claim: PodClaim): Promise<PodFacts>;
}

interface PodObject {
  readonly metadata?: {
    readonly uid?: string;
    readonly creationTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly status?: { readonly podIP?: string };
}

export interface ClusterIdentityOptions {
  /** `https://kubernetes.default.svc`; plain `http` reaches a proxy on this machine. */
  readonly apiUrl: string;
  /** Folder with `token` and `ca.crt` of this process's own service account. */
  readonly accountFolder: string;
}

/** Pause between two reads of the API server's keys, when a token names an unknown one. */
const KEYS_PAUSE_MS = 10_000;
const API_TIMEOUT_MS = 5_000;
const MAX_REPLY_BYTES = 4 * 1024 * 1024;

export function createClusterIdentity(options: ClusterIdentityOptions): PodIdentity {
  const get = (path: string): Promise<unknown> => readFromApi(options, path);
  const keyOf = createKeyReader(get);
  return {
    verifyToken: async (token) => verifiedClaim(token, (input) => jwtVerify(input, keyOf, RULES)),
    readPod: async (claim) => {
      const { namespace, podName, uid } = claim;
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(podName)}`;
      const pod = (await get(path)) as PodObject;
      if (pod.metadata?.uid !== uid) {
        throw new PlatformError("ERR_POD_UNKNOWN", `Pod ${namespace}/${podName} has another UID.`);
      }
      return factsOf(claim, pod);
    },
  };
}

const RULES = { audience: TOKEN_AUDIENCE };

/** Runs the check and turns every fault into the one error that callers match on. */
export async function verifiedClaim(
  token: string,
  verify: (token: string) => Promise<{ readonly payload: JWTPayload }>,
): Promise<PodClaim> {
  try {
    const { payload } = await verify(token);
    return claimOf(payload);
  } catch (error) {
    throw new PlatformError("ERR_TOKEN_INVALID", "The pod token is not valid.", { cause: error });
  }
}

interface BoundClaims {
  readonly namespace?: unknown;
  readonly pod?: { readonly uid?: unknown; readonly name?: unknown };
}

function claimOf(payload: JWTPayload): PodClaim {
  const bound = payload["kubernetes.io"] as BoundClaims | undefined;
  const uid = bound?.pod?.uid;
  if (typeof uid !== "string" || uid === "") throw new Error("the token is not bound to a pod");
  if (payload.exp === undefined) throw new Error("the token never expires");
  return {
    uid,
    podName: textOf(bound?.pod?.name),
    namespace: textOf(bound?.namespace),
    expiresAt: payload.exp * 1000,
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function factsOf(claim: PodClaim, pod: PodObject): PodFacts {
  const labels = pod.metadata?.labels ?? {};
  const revision = labels["serving.knative.dev/revision"];
  if (revision === undefined) {
    const name = `${claim.namespace}/${claim.podName}`;
    throw new PlatformError("ERR_POD_UNKNOWN", `Pod ${name} belongs to no revision.`);
  }
  const createdAt = Date.parse(pod.metadata?.creationTimestamp ?? "");
  return {
    uid: claim.uid,
    podName: claim.podName,
    namespace: claim.namespace,
    service: labels["serving.knative.dev/service"] ?? "",
    revision,
    address: pod.status?.podIP ?? "",
    card: "default",
    marks: Number.isNaN(createdAt) ? {} : { spawnedAt: createdAt },
  };
}

/** Keys are read at first use, and again when a token names one that is not among them. */
function createKeyReader(get: (path: string) => Promise<unknown>): JWTVerifyGetKey {
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  const reread = async (): Promise<ReturnType<typeof createLocalJWKSet>> => {
    readAt = performance.now();
    keys = createLocalJWKSet((await get("/openid/v1/jwks")) as JSONWebKeySet);
    return keys;
  };
  return async (header, token) => {
    const known = keys ?? (await reread());
    try {
      return await known(header, token);
    } catch (error) {
      if (performance.now() - readAt < KEYS_PAUSE_MS) throw error;
      const fresh = await reread();
      return fresh(header, token);
    }
  };
}

/** The account's token rotates, so it is read each time; this happens once per pod. */
async function readFromApi(options: ClusterIdentityOptions, path: string): Promise<unknown> {
  const [token, ca] = await Promise.all([
    readFile(`${options.accountFolder}/token`, "utf8"),
    readFile(`${options.accountFolder}/ca.crt`),
  ]);
  const { status, body } = await getText(new URL(path, options.apiUrl), token.trim(), ca);
  if (status === 200) return JSON.parse(body);
  throw new PlatformError("ERR_POD_UNKNOWN", `The API server answered ${status} for ${path}.`);
}

function getText(
  url: URL,
  token: string,
  ca: Buffer,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
    const send = url.protocol === "http:" ? httpRequest : httpsRequest;
    const call = send(url, { ca, headers, timeout: API_TIMEOUT_MS }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
        if (body.length > MAX_REPLY_BYTES) call.destroy(new Error("the reply is too large"));
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error("the API server did not answer in time")));
    call.on("error", (cause) =>
      reject(new PlatformError("ERR_POD_UNKNOWN", `No answer for ${url.pathname}.`, { cause })),
    );
    call.end();
  });
}
