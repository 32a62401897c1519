/**
 * The ServerlessService that belongs to a PodAutoscaler, and what its state means for it. Pure. The
 * activator is always in the path, so the mode is always Proxy.
 */
import { controllerOf, conditionOf } from "./objects.ts";
import type { ObjectMeta, PodAutoscaler, ServerlessService } from "./objects.ts";
import type { Judgement } from "../core/conditions.ts";
import type { NetworkReadiness } from "../ports.ts";

const METRIC_ANNOTATION = "autoscaling.knative.dev/metric";

/** `numActivators`: to how many activators ingresses lead its requests. */
export function desiredNetwork(
  { metadata, spec = {} }: PodAutoscaler,
  numActivators: number,
): ServerlessService {
  const { [METRIC_ANNOTATION]: _metric, ...annotations } = metadata.annotations ?? {};
  const { apiVersion = "apps/v1", kind = "Deployment", name = "" } = spec.scaleTargetRef ?? {};
  const { namespace = "", labels = {} } = metadata;
  return {
    apiVersion: "networking.internal.knative.dev/v1alpha1",
    kind: "ServerlessService",
    metadata: {
      // The Route addresses the Service of this name.
      name: metadata.name,
      namespace,
      labels,
      annotations,
      ownerReferences: [ownerOf(metadata)],
    },
    spec: {
      mode: "Proxy",
      objectRef: { apiVersion, kind, name },
      protocolType: spec.protocolType ?? "http1",
      numActivators,
    },
  };
}

function ownerOf(metadata: ObjectMeta): NonNullable<ObjectMeta["ownerReferences"]>[number] {
  const owner = {
    apiVersion: "autoscaling.internal.knative.dev/v1alpha1",
    kind: "PodAutoscaler",
    name: metadata.name,
    controller: true,
    blockOwnerDeletion: true,
  };
  return metadata.uid === undefined ? owner : { ...owner, uid: metadata.uid };
}

export function isOwnedBy(network: ServerlessService, scaler: PodAutoscaler): boolean {
  return controllerOf(network)?.uid === scaler.metadata.uid;
}

/** The object to write, or `null` where what is there will do. Foreign labels and notes stay. */
export function networkUpdate(
  present: ServerlessService,
  desired: ServerlessService,
): ServerlessService | null {
  const labels = { ...present.metadata.labels, ...desired.metadata.labels };
  const annotations = { ...present.metadata.annotations, ...desired.metadata.annotations };
  const next: ServerlessService = {
    ...present,
    metadata: { ...present.metadata, labels, annotations },
    ...(desired.spec === undefined ? {} : { spec: { ...present.spec, ...desired.spec } }),
  };
  return isSameNetwork(present, next) ? null : next;
}

function isSameNetwork(left: ServerlessService, right: ServerlessService): boolean {
  return (
    sameEntries(left.metadata.labels, right.metadata.labels) &&
    sameEntries(left.metadata.annotations, right.metadata.annotations) &&
    sameSpec(left, right)
  );
}

function sameSpec(left: ServerlessService, right: ServerlessService): boolean {
  const before = specFields(left);
  return specFields(right).every((field, index) => field === before[index]);
}

function specFields({ spec = {} }: ServerlessService): readonly unknown[] {
  const { apiVersion, kind, name } = spec.objectRef ?? {};
  // The API server leaves a 0 out.
  return [spec.mode, spec.protocolType, spec.numActivators ?? 0, apiVersion, kind, name];
}

function sameEntries(
  left: Readonly<Record<string, string>> = {},
  right: Readonly<Record<string, string>> = {},
): boolean {
  const keys = Object.keys(right);
  return keys.length === Object.keys(left).length && keys.every((key) => left[key] === right[key]);
}

const NOT_READY = { status: "Unknown", reason: "NotReady" } as const;

export function networkReadiness(
  scaler: PodAutoscaler,
  network: ServerlessService | undefined,
): NetworkReadiness {
  if (network === undefined) return unnamed("");
  if (!isOwnedBy(network, scaler)) return notOwned(network);
  const { serviceName = "", privateServiceName = "" } = network.status ?? {};
  if (privateServiceName === "") return unnamed(serviceName);
  return { ...readiness(network), serviceKnown: serviceName !== "" };
}

function readiness({ metadata, status = {} }: ServerlessService): Judgement {
  // Of an older generation its words say nothing.
  const isCurrent = status.observedGeneration === metadata.generation;
  const ready = isCurrent ? conditionOf(status.conditions, "Ready") : undefined;
  if (ready?.status === "True") return { status: "True", reason: "", message: "" };
  return { ...NOT_READY, message: ready?.message ?? "" };
}

function unnamed(serviceName: string): NetworkReadiness {
  return { ...NOT_READY, message: "No Private Service Name", serviceKnown: serviceName !== "" };
}

function notOwned({ metadata }: ServerlessService): NetworkReadiness {
  const message = `There is an existing ServerlessService "${metadata.name}" that we do not own.`;
  return { status: "False", reason: "NotOwned", message, serviceKnown: false, notOwned: message };
}
