/**
 * Requests that are not traffic: the kubelet, the ingress and Knative's own components ask whether
 * this process is there. They are answered before anything else looks at the request.
 */
import {
  KUBELET_PROBE_AGENT,
  NETWORK_HASH_HEADER,
  PROXY_REQUEST_ACTIVATOR,
} from "../../common/contracts/headers.ts";
import type { CallerHeaders } from "./caller-headers.ts";

export interface ProbeAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

export type ProbeHeaders = Pick<
  CallerHeaders,
  "userAgent" | "kubeletProbe" | "networkProbe" | "networkHash"
>;

/** `unhealthy` is empty while this process is well. Null: the request is traffic. */
export function answerProbe(caller: ProbeHeaders, unhealthy: string): ProbeAnswer | null {
  if (caller.kubeletProbe !== "" || caller.userAgent.startsWith(KUBELET_PROBE_AGENT)) {
    return unhealthy === "" ? plain(200, "") : plain(500, `${unhealthy}\n`);
  }
  if (caller.networkProbe === "") return null;
  if (caller.networkProbe === "probe") return answerIngress(caller.networkHash);
  if (caller.networkProbe === PROXY_REQUEST_ACTIVATOR) return plain(200, PROXY_REQUEST_ACTIVATOR);
  return plain(400, `unexpected probe header value: "${caller.networkProbe}"\n`);
}

/** Answered during a drain too: the ingress must not lose its way to the waiting requests. */
function answerIngress(hash: string): ProbeAnswer {
  if (hash === "") {
    return plain(400, 'a probe request must contain a non-empty "K-Network-Hash" header\n');
  }
  return { status: 200, headers: [NETWORK_HASH_HEADER, hash], body: "" };
}

function plain(status: number, body: string): ProbeAnswer {
  return { status, headers: ["content-type", "text/plain; charset=utf-8"], body };
}
