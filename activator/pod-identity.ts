/**
 * Who a sidecar is: what its token proves and what its pod object says. In a cluster the token is
 * checked with the API server's keys and the pod is read by a plain GET, without a client library;
 * local mode has its own form of both in `local-identity.ts`.
 */
import { jwtVerify } from "jose";
import type { JWTPayload } from "jose";
import { TOKEN_AUDIENCE } from "../common/contracts/push.ts";
import { PlatformError } from "../common/errors.ts";
import { createApiReader } from "./api-reader.ts";
import type { ApiReaderOptions } from "./api-reader.ts";
import type { PodClaim, PodFacts } from "./core/pod-facts.ts";
import type { PodObject } from "./core/pod-object.ts";
import { factsOfPod } from "./core/pod-object.ts";
import { createTokenKeys } from "./token-keys.ts";

export type { KubeletGate, PodClaim, PodFacts } from "./core/pod-facts.ts";

export interface PodIdentity {
  /** Rejects with ERR_TOKEN_INVALID, or ERR_API_UNAVAILABLE when it cannot be checked. */
  verifyToken(token: string): Promise<PodClaim>;
  /** Rejects with ERR_POD_UNKNOWN, or ERR_API_UNAVAILABLE when nobody says. */
  readPod(claim: PodClaim): Promise<PodFacts>;
}

export interface ClusterIdentityOptions extends ApiReaderOptions {
  /** Monotonic, in ms; for tests. */
  readonly now?: () => number;
}

/** What the API server signs with; never a shared secret. */
const RULES = {
  audience: TOKEN_AUDIENCE,
  algorithms: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"],
};

export function createClusterIdentity(options: ClusterIdentityOptions): PodIdentity {
  const read = createApiReader(options);
  const keyOf = createTokenKeys({ read, now: options.now ?? (() => performance.now()) });
  return {
    verifyToken: (token) => verifiedClaim(token, (input) => jwtVerify(input, keyOf, RULES)),
    readPod: async (claim) => {
      const { namespace, podName, uid } = claim;
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(podName)}`;
      const pod = (await read(path)) as PodObject | undefined;
      const name = `Pod ${namespace}/${podName}`;
      if (pod === undefined) throw unknown(`${name} does not exist.`);
      if (pod.metadata?.uid !== uid) throw unknown(`${name} has another UID.`);
      const facts = factsOfPod(claim, pod);
      if (facts === null) throw unknown(`${name} belongs to no revision.`);
      return facts;
    },
  };
}

/** Runs the check and turns every fault of the token into the one error that callers match on. */
export async function verifiedClaim(
  token: string,
  verify: (token: string) => Promise<{ readonly payload: JWTPayload }>,
): Promise<PodClaim> {
  try {
    const { payload } = await verify(token);
    return claimOf(payload);
  } catch (error) {
    const isAway = error instanceof PlatformError && error.code === "ERR_API_UNAVAILABLE";
    if (isAway) throw error;
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

function unknown(message: string): PlatformError {
  return new PlatformError("ERR_POD_UNKNOWN", message);
}
