/** Leaves out of copied objects what nobody reads: with 50,000 pods it would be most of the memory. */
import type { Deployment, KubeObject, Node, ObjectMeta, Pod, Revision } from "./objects.ts";

export function trimPod(pod: Pod): Pod {
  const { spec, status, metadata } = pod;
  return {
    metadata: slim(metadata),
    spec: {
      ...(spec?.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
      containers: (spec?.containers ?? []).map(({ name = "", resources = {} }) => ({
        name,
        resources,
      })),
    },
    ...(status === undefined ? {} : { status: slimStatus(status) }),
  };
}

function slimStatus(status: NonNullable<Pod["status"]>): NonNullable<Pod["status"]> {
  const { phase, podIP, reason, conditions, initContainerStatuses, containerStatuses } = status;
  return defined({
    phase,
    podIP,
    reason,
    conditions,
    initContainerStatuses,
    containerStatuses,
  });
}

export function trimNode({ metadata, spec, status }: Node): Node {
  const { unschedulable, taints } = spec ?? {};
  const { conditions, addresses, daemonEndpoints } = status ?? {};
  return {
    metadata: slim(metadata),
    spec: defined({ unschedulable, taints }),
    status: defined({ conditions, addresses, daemonEndpoints }),
  };
}

export function trimDeployment({ metadata, spec }: Deployment): Deployment {
  const { annotations: _annotations, ...rest } = slim(metadata);
  return { metadata: rest, spec: defined({ replicas: spec?.replicas }) };
}

export function trimRevision({ metadata, spec }: Revision): Revision {
  const { timeoutSeconds, responseStartTimeoutSeconds, idleTimeoutSeconds } = spec ?? {};
  return {
    metadata: slim(metadata),
    spec: defined({ timeoutSeconds, responseStartTimeoutSeconds, idleTimeoutSeconds }),
  };
}

/** Managed fields are for server-side apply only. */
export function trimMeta<T extends KubeObject>(object: T): T {
  return { ...object, metadata: slim(object.metadata) };
}

function slim(metadata: ObjectMeta): ObjectMeta {
  const { managedFields: _managed, ...rest } = metadata as ObjectMeta & {
    readonly managedFields?: unknown;
  };
  return rest;
}

function defined<T extends object>(values: {
  readonly [K in keyof T]: T[K] | undefined;
}): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
