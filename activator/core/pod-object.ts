/** What one read of a pod's object tells: whose it is, where it is, and whose word makes it ready. */
import type { PodClaim, PodFacts } from "./pod-facts.ts";

export interface PodObject {
  readonly metadata?: {
    readonly uid?: string;
    readonly creationTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly containers?: readonly ContainerSpec[];
    readonly initContainers?: readonly ContainerSpec[];
  };
  readonly status?: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  };
}

interface ContainerSpec {
  readonly name?: string;
  readonly restartPolicy?: string;
  readonly startupProbe?: unknown;
  readonly readinessProbe?: { readonly exec?: unknown };
}

/** Null when the pod belongs to no revision. */
export function factsOfPod(claim: PodClaim, pod: PodObject): PodFacts | null {
  const labels = pod.metadata?.labels ?? {};
  const revision = labels["serving.knative.dev/revision"];
  if (revision === undefined || revision === "") return null;
  return {
    uid: claim.uid,
    podName: claim.podName,
    namespace: claim.namespace,
    service: labels["serving.knative.dev/service"] ?? "",
    revision,
    address: pod.status?.podIP ?? "",
    // The autoscaler names the card of the pod's node; the store joins the two.
    card: "",
    marks: marksOf(pod),
    ...kubeletGate(pod),
  };
}

function marksOf(pod: PodObject): PodFacts["marks"] {
  const createdAt = Date.parse(pod.metadata?.creationTimestamp ?? "");
  return Number.isNaN(createdAt) ? {} : { spawnedAt: createdAt };
}

/**
 * Probes that only the kubelet runs: the sidecar sees nothing of them, so its "ready" counts from
 * when the pod is Ready too. A startup probe passes once, an exec probe may fail again.
 */
function kubeletGate(pod: PodObject): Pick<PodFacts, "gate"> {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const own = [...containers, ...sidecars].filter(({ name }) => name !== "queue-proxy");
  const hasExec = own.some(({ readinessProbe }) => readinessProbe?.exec !== undefined);
  const hasStartup = own.some(({ startupProbe }) => startupProbe !== undefined);
  if (!hasExec && !hasStartup) return {};
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return { gate: { until: hasExec ? "always" : "first", isOpen: ready?.status === "True" } };
}
