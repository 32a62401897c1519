/**
 * The parts of Kubernetes and Knative objects that we read, and the paths of their collections.
 * All fields may be absent: what others wrote is judged, never trusted.
 */
import type { RevisionKey } from "../../common/contracts/routing.ts";

export interface OwnerReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly controller?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface KubeList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[];
}

export interface KubeCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly severity?: string;
  readonly lastTransitionTime?: string;
}

interface ScaleTargetRef {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
}

export interface PodAutoscaler extends KubeObject {
  readonly spec?: {
    readonly containerConcurrency?: number;
    readonly scaleTargetRef?: ScaleTargetRef;
    readonly reachability?: string;
    readonly protocolType?: string;
  };
  readonly status?: PodAutoscalerStatus;
}

export interface PodAutoscalerStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly KubeCondition[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly serviceName?: string;
  readonly metricsServiceName?: string;
  readonly desiredScale?: number;
  readonly actualScale?: number;
}

export interface ServerlessServiceSpec {
  readonly mode: "Proxy" | "Serve";
  readonly objectRef: ScaleTargetRef;
  readonly protocolType: string;
  readonly numActivators?: number;
}

export interface ServerlessService extends KubeObject {
  readonly spec?: Partial<ServerlessServiceSpec>;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly KubeCondition[];
    readonly serviceName?: string;
    readonly privateServiceName?: string;
  };
}

export interface Revision extends KubeObject {
  readonly spec?: {
    readonly timeoutSeconds?: number;
    readonly responseStartTimeoutSeconds?: number;
    readonly idleTimeoutSeconds?: number;
    readonly containers?: readonly ContainerSpec[];
  };
}

export interface ContainerSpec {
  readonly name?: string;
  readonly image?: string;
  readonly resources?: {
    readonly requests?: Readonly<Record<string, unknown>>;
    readonly limits?: Readonly<Record<string, unknown>>;
  };
}

export interface KnativeService extends KubeObject {
  readonly status?: {
    readonly url?: string;
    readonly latestCreatedRevisionName?: string;
    readonly conditions?: readonly KubeCondition[];
    readonly traffic?: readonly TrafficTarget[];
  };
}

export interface TrafficTarget {
  readonly revisionName?: string;
  readonly latestRevision?: boolean;
  readonly percent?: number;
  readonly tag?: string;
  readonly url?: string;
}

export interface Deployment extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

/** The `/scale` of a deployment; its resource version is the deployment's. */
export interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

export interface ContainerStatus {
  readonly name?: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: TerminatedState;
  };
  readonly lastState?: { readonly terminated?: TerminatedState };
}

export interface TerminatedState {
  readonly reason?: string;
  readonly message?: string;
  readonly exitCode?: number;
}

export interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string; readonly containers?: readonly ContainerSpec[] };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly reason?: string;
    readonly conditions?: readonly KubeCondition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface Node extends KubeObject {
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key?: string; readonly effect?: string }[];
  };
  readonly status?: {
    readonly conditions?: readonly KubeCondition[];
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
  };
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const REVISION_LABEL = "serving.knative.dev/revision";
export const SERVICE_LABEL = "serving.knative.dev/service";
export const CLASS_ANNOTATION = "autoscaling.knative.dev/class";

/** A group and version with the plural of a kind: where its objects are under the API server. */
export const RESOURCES = {
  podautoscalers: "/apis/autoscaling.internal.knative.dev/v1alpha1",
  metrics: "/apis/autoscaling.internal.knative.dev/v1alpha1",
  serverlessservices: "/apis/networking.internal.knative.dev/v1alpha1",
  revisions: "/apis/serving.knative.dev/v1",
  services: "/apis/serving.knative.dev/v1",
  deployments: "/apis/apps/v1",
  pods: "/api/v1",
  nodes: "/api/v1",
  configmaps: "/api/v1",
  secrets: "/api/v1",
} as const;
export type Resource = keyof typeof RESOURCES;

/** All objects of a kind, in one namespace or everywhere. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const base = RESOURCES[resource];
  if (namespace === undefined) return `${base}/${resource}`;
  return `${base}/namespaces/${encodeURIComponent(namespace)}/${resource}`;
}

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

export function objectPath(resource: Resource, { namespace, name }: ObjectName): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
}

/** `namespace/name`; of a node its name alone. */
export function nameKey({ metadata }: KubeObject): string {
  return metadata.namespace === undefined
    ? metadata.name
    : keyOf(metadata.namespace, metadata.name);
}

export function keyOf(namespace: string, name: string): RevisionKey {
  return `${namespace}/${name}`;
}

export function splitKey(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function conditionOf(
  conditions: readonly KubeCondition[] | undefined,
  type: string,
): KubeCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Its one controller; undefined for an object that nobody owns. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller === true);
}
