/**
 * The run's secret and the tokens that local pods prove their identity with: the same claims as a
 * projected service-account token, signed with HMAC instead of the cluster's key.
 */
import { createHmac, randomBytes } from "node:crypto";
import { TOKEN_AUDIENCE } from "../common/contracts/push.ts";

export const TOKEN_LIFETIME_MS = 60 * 60_000;
/** As the kubelet does: renewed well before the end. */
export const TOKEN_REFRESH_MS = 20 * 60_000;
const SECRET_BYTES = 32;

export interface PodIdentity {
  readonly namespace: string;
  readonly podName: string;
  readonly podUid: string;
}

export function createRunSecret(): string {
  return randomBytes(SECRET_BYTES).toString("hex");
}

/** JSON Web Token, HS256 over the text of the secret. */
export function signPodToken(secret: string, identity: PodIdentity, now: number): string {
  const issuedAt = Math.floor(now / 1000);
  const header = encode({ alg: "HS256", typ: "JWT" });
  const claims = encode({
    iss: "pilotlight-local",
    sub: `system:serviceaccount:${identity.namespace}:default`,
    aud: [TOKEN_AUDIENCE],
    iat: issuedAt,
    nbf: issuedAt - 1,
    exp: issuedAt + TOKEN_LIFETIME_MS / 1000,
    "kubernetes.io": {
      namespace: identity.namespace,
      pod: { name: identity.podName, uid: identity.podUid },
      serviceaccount: { name: "default" },
    },
  });
  const signature = createHmac("sha256", secret).update(`${header}.${claims}`).digest("base64url");
  return `${header}.${claims}.${signature}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
