/**
 * Who a sidecar is in local mode: tokens of the cluster's form, signed with the run's secret, and
 * pod records in the run folder.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { jwtVerify } from "jose";
import type { PodRecord } from "../common/contracts/local-run.ts";
import { TOKEN_AUDIENCE } from "../common/contracts/push.ts";
import { PlatformError } from "../common/errors.ts";
import type { PodFacts, PodIdentity } from "./pod-identity.ts";
import { verifiedClaim } from "./pod-identity.ts";

const RULES = { audience: TOKEN_AUDIENCE, algorithms: ["HS256"] };
/** UIDs become file names. */
const SANE_UID = /^[A-Za-z0-9-]{1,64}$/;

/** `secret` is the text of the run's `secret` file. */
export function createLocalIdentity(runFolder: string, secret: string): PodIdentity {
  const key = new TextEncoder().encode(secret.trim());
  return {
    verifyToken: (token) => verifiedClaim(token, (input) => jwtVerify(input, key, RULES)),
    readPod: async ({ uid }) => {
      if (!SANE_UID.test(uid)) throw unknownPod(uid);
      try {
        const text = await readFile(join(runFolder, "pods", `${uid}.json`), "utf8");
        return factsOf(JSON.parse(text) as PodRecord);
      } catch (error) {
        throw unknownPod(uid, error);
      }
    },
  };
}

function factsOf(record: PodRecord): PodFacts {
  return {
    uid: record.uid,
    podName: record.name,
    namespace: record.namespace,
    service: record.service,
    revision: record.revision,
    address: record.address,
    card: record.card,
    marks: { decidedAt: record.decidedAt, spawnedAt: record.spawnedAt },
  };
}

function unknownPod(uid: string, cause?: unknown): PlatformError {
  return new PlatformError("ERR_POD_UNKNOWN", `There is no record of pod "${uid}".`, { cause });
}
