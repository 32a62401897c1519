/**
 * Who this pod is, and the proof: the projected service-account token. The file is read at each
 * use, because the kubelet replaces it before it expires.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TOKEN_AUDIENCE } from "../common/contracts/push.ts";

const TOKEN_DIRECTORY = "var/run/secrets/tokens";
/** Every request asks for the uid: without a token the file is looked for this often, not each time. */
const RETRY_MS = 1_000;

export interface PodIdentity {
  /** Empty when there is no token to read it from; then nothing can be pushed. */
  uid(): string;
  /** Undefined when the file is missing. */
  token(): string | undefined;
}

export function createPodIdentity(
  podRoot: string,
  nowMs: () => number = () => performance.now(),
): PodIdentity {
  const path = join(podRoot, TOKEN_DIRECTORY, TOKEN_AUDIENCE);
  let uid = "";
  let lookedAt = Number.NEGATIVE_INFINITY;
  const token = (): string | undefined => {
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      return undefined;
    }
  };
  return {
    token,
    uid: () => {
      if (uid !== "") return uid;
      const now = nowMs();
      if (now - lookedAt < RETRY_MS) return "";
      lookedAt = now;
      uid = podUidOf(token() ?? "");
      return uid;
    },
  };
}

/** The claim `kubernetes.io.pod.uid`; the signature is the activator's to check. */
export function podUidOf(token: string): string {
  try {
    const payload: unknown = JSON.parse(
      Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"),
    );
    const uid = at(at(at(payload, "kubernetes.io"), "pod"), "uid");
    return typeof uid === "string" ? uid : "";
  } catch {
    return "";
  }
}

function at(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}
