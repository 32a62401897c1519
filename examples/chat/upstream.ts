/**
 * The call to the model service, through its public address like anybody else's. A Host header of
 * its own is why this is not fetch, which does not let callers set one.
 */
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";

export interface ModelAddress {
  readonly url: URL;
  /** The name under which the platform knows the service. */
  readonly host: string;
}

/** Where the command line puts the entrance of a local platform unless told otherwise. */
const LOCAL_INGRESS = "http://127.0.0.1:8080";

/** LLM_URL and LLM_HOST name any server; without them it is the service `llm` beside this one. */
export function modelAddress(env: Readonly<Record<string, string | undefined>>): ModelAddress {
  const given = env["LLM_URL"];
  if (given !== undefined) {
    const url = new URL(given);
    return { url, host: env["LLM_HOST"] ?? url.host };
  }
  const namespace = env["POD_NAMESPACE"] ?? "default";
  if (env["KUBERNETES_SERVICE_HOST"] !== undefined) {
    const host = `llm.${namespace}.svc.cluster.local`;
    return { url: new URL(`http://${host}`), host: env["LLM_HOST"] ?? host };
  }
  const url = new URL(env["PILOTLIGHT_INGRESS_URL"] ?? LOCAL_INGRESS);
  return { url, host: env["LLM_HOST"] ?? `llm.${namespace}.localhost` };
}

export interface ModelCall {
  readonly path: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Resolves with the head of the answer; the body streams on. */
export function callModel(
  { url, host }: ModelAddress,
  { path, body, signal }: ModelCall,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      new URL(path, url),
      {
        method: "POST",
        signal,
        headers: {
          host,
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
        },
      },
      resolve,
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
